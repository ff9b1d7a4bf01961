//! Certificates that were not renewed in time.

use std::{collections::BTreeMap, time::Duration};

use crate::probe::{Fault, State, Verdict};
use jiff::Timestamp;
use nodewell_message::MessageArgs;
use nodewell_model::SubjectKey;

use super::gauge::subject_key;
use crate::limits::reading::Dates;

const CONDITION: &str = "CertificateExpiring";
/// The kubelet renews when 70 to 90 % of the life are over (k8s.io/client-go/util/certificate jitteryDuration): with
/// a twelfth left it has failed for long. Of a certificate of a year that is a month.
const LEFT: i64 = 12;

/// How each certificate is; where there is none, nothing expires.
pub(super) fn verdicts(certificates: &BTreeMap<String, Dates>, days: u32, now: Timestamp) -> Vec<Verdict> {
    let whole = Verdict::new(
        subject_key(CONDITION, ""),
        State::healthy("CertificateExpiring/healthy-node", &[("limit", &days)]),
    );
    let verdict =
        |(path, dates): (&String, &Dates)| Verdict::new(subject_key(CONDITION, path.clone()), state(*dates, days, now));
    std::iter::once(whole).chain(certificates.iter().map(verdict)).collect()
}

/// What the verdicts are about, for the report on files that cannot be read.
pub(super) fn keys(certificates: &BTreeMap<String, Dates>) -> Vec<SubjectKey> {
    let paths = certificates.keys().map(String::as_str);
    std::iter::once("").chain(paths).map(|subject| subject_key(CONDITION, subject)).collect()
}

fn state(dates: Dates, days: u32, now: Timestamp) -> State {
    let left = dates.not_after.saturating_sub(now.as_second());
    let life = dates.not_after.saturating_sub(dates.not_before).max(0);
    let end =
        Timestamp::from_second(dates.not_after).map_or_else(|_| "a time far away".to_owned(), |end| end.to_string());
    if left <= 0 {
        return State::Faulty(vec![Fault::of("CertificateExpired", &[("end", &end)])]);
    }
    let limit = (life / LEFT).min(i64::from(days) * 24 * 3600);
    if left < limit {
        let args: MessageArgs<'_> = &[("end", &end), ("left", &remaining(left)), ("limit", &remaining(limit))];
        return State::Faulty(vec![Fault::of("CertificateExpiring", args)]);
    }
    State::healthy("CertificateExpiring/healthy", &[("end", &end)])
}

/// To its first unit.
fn remaining(secs: i64) -> String {
    let left = Duration::from_secs(secs.unsigned_abs());
    match left.as_secs() {
        0..3_600 => format!("{} min", left.as_secs() / 60),
        3_600..172_800 => format!("{} h", left.as_secs() / 3_600),
        more => format!("{} d", more / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY: i64 = 86_400;

    fn reason(life: i64, left: i64) -> Option<String> {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let not_after = now.as_second() + left;
        match state(Dates { not_before: not_after - life, not_after }, 30, now) {
            State::Faulty(faults) => Some(faults[0].reason.to_string()),
            _ => None,
        }
    }

    #[test]
    fn a_kubelet_that_renews_in_time_is_never_reported() {
        for life in [DAY, 30 * DAY, 365 * DAY] {
            assert_eq!(reason(life, life / 10), None, "renewal is due with a tenth left");
            assert_eq!(reason(life, life / 13).as_deref(), Some("CertificateExpiring"));
            assert_eq!(reason(life, 0).as_deref(), Some("CertificateExpired"));
            assert_eq!(reason(life, -5 * DAY).as_deref(), Some("CertificateExpired"));
        }
    }

    #[test]
    fn a_ca_of_ten_years_is_reported_a_month_before() {
        assert_eq!(reason(3650 * DAY, 31 * DAY), None);
        assert_eq!(reason(3650 * DAY, 29 * DAY).as_deref(), Some("CertificateExpiring"));
    }

    proptest! {
        #[test]
        fn no_dates_break_it(not_before: i64, not_after: i64, days: u32) {
            let _ = state(Dates { not_before, not_after }, days, Timestamp::UNIX_EPOCH);
        }
    }
}
