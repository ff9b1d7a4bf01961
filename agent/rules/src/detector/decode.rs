//! Lines whose meaning is in a table: a rule's decoder decides what is found.

use nodewell_faults::{Branch, Decoded};
use nodewell_model::{Finding, FindingKind};

use super::{Detector, Judged};
use crate::{
    matcher::{Blanks, Found},
    rule::Rule,
};

impl Detector {
    /// Adds what the decoder of `rule` finds in a record that its pattern matched.
    pub(super) fn decode(
        &mut self,
        rule: &Rule,
        slot: u32,
        found: &Found,
        judged: &Judged<'_, '_>,
        out: &mut Vec<Finding>,
    ) {
        let Some(decoder) = rule.decoder else { return };
        let line = String::from_utf8_lossy(judged.haystack.newest(Blanks::Kept));
        self.branch = Branch::of_loading_line(&line).or(self.branch);
        self.claimed.add(slot);
        for decoded in judged.set.tables().decode(decoder, &line, self.branch) {
            if !self.is_history(rule, decoded.condition.as_ref(), judged.record) {
                out.push(judged.decoded(rule, found, decoded));
            }
        }
    }
}

impl Judged<'_, '_> {
    fn decoded(&self, rule: &Rule, found: &Found, decoded: Decoded) -> Finding {
        let Decoded { kind, reason, condition, severity, action, subject } = decoded;
        let lasts = kind == FindingKind::Raise && condition.is_some();
        Finding {
            ends_at_boot: lasts && rule.clears.boot,
            ends_after_quiet: rule.clears.quiet.filter(|_| lasts),
            reason,
            condition,
            severity,
            action: Some(action),
            subject: Some(subject),
            ..self.finding(kind, rule, found)
        }
    }
}
