//! Makes the conditions that are reported from a judge's verdict, each with the time since when it holds. Pure but for
//! the clock's now.

use std::collections::BTreeMap;

use jiff::Timestamp;
use nodewell_checks::probe::{Fault, State, Verdict};
use nodewell_faults::message;
use nodewell_model::{Condition, ConditionStatus, Name, SubjectKey, text};

use crate::check_process::release::Release;

/// For each reason of one subject that holds: since when.
pub(super) type SinceByReason = BTreeMap<Name, Timestamp>;

/// The reason of a device without a fault; people see the catalogue's text for the condition.
const WELL: &str = "DeviceIsWell";
const RELEASED: &str = "DevicesReleased";

/// As a report may have it: a mount point may have any character but a null, and 4095 bytes.
pub(super) fn reported_subject(raw: &str) -> String {
    text::subject(raw.as_bytes())
}

/// One state for each subject: should two verdicts concern one, a fault is never lost.
pub(super) fn joined(verdicts: Vec<Verdict>) -> BTreeMap<SubjectKey, State> {
    let mut states: BTreeMap<SubjectKey, State> = BTreeMap::new();
    for Verdict { condition, subject, state } in verdicts {
        let key = SubjectKey::of(condition, reported_subject(&subject));
        let joined = match states.remove(&key) {
            Some(before) => worse(before, state),
            None => state,
        };
        states.insert(key, joined);
    }
    states
}

fn worse(one: State, other: State) -> State {
    match (one, other) {
        (State::Faulty(mut faults), State::Faulty(more)) => {
            faults.extend(more);
            State::Faulty(faults)
        }
        (faulty @ State::Faulty(_), _) | (_, faulty @ State::Faulty(_)) => faulty,
        (unknown @ State::Unknown { .. }, _) | (_, unknown @ State::Unknown { .. }) => unknown,
        (healthy, State::Healthy { .. }) => healthy,
    }
}

/// What is reported of `key`. What held before holds since then, whatever its judge knows by now; what is new, since its
/// judge says so, or else since now.
pub(super) fn compose(key: &SubjectKey, state: State, before: &SinceByReason) -> (Vec<Condition>, SinceByReason) {
    let conditions = match state {
        State::Healthy { message } => vec![plain(key, ConditionStatus::False, Name::fixed(WELL), message)],
        State::Unknown { reason, message } => vec![plain(key, ConditionStatus::Unknown, reason.into(), message)],
        State::Faulty(faults) => faults.into_iter().map(|fault| faulty(key, fault)).collect(),
    };
    let held = |condition: &Condition| before.get(&condition.reason).copied().unwrap_or(condition.transition);
    let dated: Vec<Condition> =
        conditions.into_iter().map(|condition| Condition { transition: held(&condition), ..condition }).collect();
    let mut since: SinceByReason =
        dated.iter().map(|condition| (condition.reason.clone(), condition.transition)).collect();
    if dated.iter().all(|condition| condition.status == ConditionStatus::Unknown) {
        // A fault from before an Unknown state is not a new fault after it.
        since.extend(before.iter().filter(|(reason, _)| reason.as_str() != WELL).map(|(r, time)| (r.clone(), *time)));
    }
    (dated, since)
}

/// What is reported of `key` while its device is released.
pub(super) fn released(key: &SubjectKey, release: &Release) -> Condition {
    let message = message(RELEASED, &[("until", &release.until_text())]);
    plain(key, ConditionStatus::Unknown, Name::fixed(RELEASED), message)
}

/// Whether nothing would be lost if it were forgotten.
pub(super) fn is_healthy(since: &SinceByReason) -> bool {
    since.keys().all(|reason| reason.as_str() == WELL)
}

fn plain(key: &SubjectKey, status: ConditionStatus, reason: Name, message: String) -> Condition {
    Condition {
        condition: key.condition.clone(),
        status,
        transition: Timestamp::now(),
        reason,
        message,
        subject: key.subject.clone(),
        severity: None,
        action: None,
    }
}

fn faulty(key: &SubjectKey, fault: Fault) -> Condition {
    let Fault { reason, severity, action, message, since } = fault;
    let condition = plain(key, ConditionStatus::True, reason, message);
    Condition { transition: since.unwrap_or(condition.transition), severity: Some(severity), action, ..condition }
}

#[cfg(test)]
mod tests {
    use nodewell_model::{Severity, Status};

    use super::*;

    fn key() -> SubjectKey {
        SubjectKey::of(Name::fixed("DiskUnhealthy"), "nvme0".to_owned())
    }

    fn fault(reason: &'static str, since: Option<Timestamp>) -> Fault {
        let reason = Name::fixed(reason);
        Fault { reason, severity: Severity::Error, action: None, message: "m".to_owned(), since }
    }

    fn verdict(state: State) -> Verdict {
        Verdict::new(key(), state)
    }

    fn healthy() -> State {
        State::Healthy { message: "31 °C".to_owned() }
    }

    fn unknown() -> State {
        State::Unknown { reason: nodewell_checks::probe::UnknownReason::NotAnswering, message: String::new() }
    }

    #[test]
    fn what_holds_keeps_its_time_and_what_is_new_has_its_own() {
        let began: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let (first, since) = compose(&key(), State::Faulty(vec![fault("A", Some(began))]), &SinceByReason::new());
        assert_eq!(first[0].transition, began);
        let later = Some(began + jiff::SignedDuration::from_secs(7));
        let (second, since) = compose(&key(), State::Faulty(vec![fault("B", None), fault("A", later)]), &since);
        assert_eq!(second[1].transition, began);
        assert!(second[0].transition > began);
        assert_eq!(since.len(), 2);
        let (_, since) = compose(&key(), unknown(), &since);
        let (after, since) = compose(&key(), State::Faulty(vec![fault("A", None)]), &since);
        assert_eq!((after[0].transition, since.len()), (began, 1), "it was unknown in between");
        let (third, since) = compose(&key(), healthy(), &since);
        assert_eq!((third[0].status, third.len()), (ConditionStatus::False, 1));
        assert!(is_healthy(&since));
        let (again, _) = compose(&key(), healthy(), &since);
        assert_eq!(again[0].transition, third[0].transition);
    }

    /// Or the agent would refuse all that is reported with it.
    #[test]
    fn a_subject_is_as_a_report_may_have_it() {
        for raw in ["/mnt/a\nb", "/mnt/a\u{202e}b", "/mnt/a\u{200b}b", &format!("/mnt/{}", "ä".repeat(300))] {
            let verdicts = vec![Verdict::new(SubjectKey::of(Name::fixed("FilesystemFull"), raw.to_owned()), healthy())];
            let (key, state) = joined(verdicts).pop_first().unwrap();
            let (conditions, _) = compose(&key, state, &SinceByReason::new());
            let report = Status { source: "mounts".to_owned(), conditions, ..Status::default() };
            assert_eq!(report.check(), Ok(()), "{raw:?}");
            assert_eq!(
                reported_subject(&key.subject.clone().unwrap()),
                key.subject.unwrap(),
                "saved, and loaded again"
            );
        }
    }

    #[test]
    fn two_verdicts_on_one_subject_lose_no_fault() {
        let faulty = || State::Faulty(vec![fault("A", None)]);
        let of = |states: [State; 2]| joined(states.map(verdict).to_vec()).remove(&key()).unwrap();
        assert_eq!(of([healthy(), faulty()]), faulty());
        assert_eq!(of([faulty(), unknown()]), faulty());
        assert_eq!(of([unknown(), healthy()]), unknown());
        assert_eq!(of([healthy(), unknown()]), unknown());
        let State::Faulty(both) = of([faulty(), State::Faulty(vec![fault("B", None)])]) else { panic!() };
        assert_eq!(both.len(), 2);
    }
}
