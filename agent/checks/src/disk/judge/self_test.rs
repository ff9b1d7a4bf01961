//! The newest self-test that came to an end: a failure stands until one passes.

use super::assessment::Assessment;
use crate::disk::{baseline::Baseline, part::Part, reading::SelfTest};

/// A failure that is older than a month of running when the log is first read was for an operator to handle before; one
/// of unknown age counts as that old.
const OLD_HOURS: u64 = 30 * 24;

/// `age_hours` is the device's power-on hours since a test at those hours, if that is known.
pub(super) fn judge(
    latest: &Part<Option<SelfTest>>,
    age_hours: impl Fn(u64) -> Option<u64>,
    baseline: &mut Baseline,
    found: &mut Assessment,
) {
    let was_known = baseline.knows_self_tests;
    baseline.knows_self_tests |= latest.read().is_some();
    let Some(Some(test)) = found.carried(latest, &["SelfTestFailed"]).map(Option::as_ref) else { return };
    if test.passed {
        baseline.old_self_test = None;
        return;
    }
    let age = age_hours(test.at_hours);
    if !was_known && age.is_none_or(|age| age > OLD_HOURS) {
        baseline.old_self_test = Some(test.at_hours);
    }
    let SelfTest { result, at_hours: hours, .. } = test;
    match age {
        _ if baseline.old_self_test == Some(*hours) => {
            found.note("SelfTestFailed/figure", &[("hours", hours), ("result", result)]);
        }
        Some(ago) => found.fault("SelfTestFailed/age", &[("hours", hours), ("ago", &ago), ("result", result)]),
        None => found.fault("SelfTestFailed", &[("hours", hours), ("result", result)]),
    }
}
