//! Bounds: what happens when there is too much of everything.

use super::*;
use crate::{Applied, Limits, Rejection, Share};

fn small(limits: Limits) -> Ledger {
    watched().with_limits(limits)
}

#[test]
fn too_many_subjects_are_one_problem_with_exact_counts() {
    let mut ledger = small(Limits { subjects: 3, ..Limits::default() });
    for n in 0..10 {
        ledger.apply(Finding { count: 2, ..raise(&format!("sd{n}"), 1) }, at(1)).unwrap();
    }
    let view = disk(&mut ledger);
    assert_eq!(view.problems.len(), 4);
    assert_eq!(view.problems.iter().map(|problem| problem.count).sum::<u64>(), 20);
    let folded = view.problems.iter().find(|problem| problem.subject.is_none()).unwrap();
    assert_eq!((folded.count, folded.message.as_str()), (14, "too many subjects, also sd9: I/O error, dev sd9"));
    assert_eq!(ledger.counters().raised[&Name::fixed("IOError")], 20);
    assert_eq!(ledger.apply(clear("sd0", 2), at(2)), Ok(Applied::Cleared(1)));
    assert_eq!(ledger.apply(raise("sd9", 3), at(3)), Ok(Applied::Started));
    let all = Finding { subject: None, ..clear("", 4) };
    assert_eq!(ledger.apply(all, at(4)), Ok(Applied::Cleared(4)));
}

#[test]
fn problems_are_bounded_in_all() {
    let mut ledger = small(Limits { problems: 2, ..Limits::default() });
    for n in 0..9 {
        let condition = Some(Name::fixed(if n % 2 == 0 { "DiskUnhealthy" } else { "KernelDeadlock" }));
        ledger.apply(Finding { condition, ..raise(&format!("sd{n}"), 1) }, at(1)).unwrap();
    }
    assert_eq!(ledger.conditions().iter().map(|view| view.problems.len()).sum::<usize>(), 4);
}

#[test]
fn a_new_reason_replaces_one_that_is_over_or_none() {
    let mut ledger = small(Limits { reasons: 1, ..Limits::default() });
    let other = |secs| Finding { reason: Name::fixed("NVMeTimeout"), ..raise("nvme0", secs) };
    ledger.apply(raise("sda", 1), at(1)).unwrap();
    let refused = Rejection::TooManyReasons(Name::fixed("DiskUnhealthy"));
    assert_eq!(ledger.apply(other(2), at(2)), Err(refused));
    ledger.apply(clear("sda", 3), at(3)).unwrap();
    assert_eq!(ledger.apply(other(4), at(4)), Ok(Applied::Started));
}

#[test]
fn claims_of_one_problem_are_bounded() {
    let mut ledger = small(Limits { claims: 1, ..Limits::default() });
    ledger.apply(raise("sda", 1), at(1)).unwrap();
    let refused = ledger.apply(Finding { source: "smartd".into(), ..raise("sda", 2) }, at(2));
    assert_eq!(refused, Err(Rejection::TooManySources(Name::fixed("IOError"))));
    assert_eq!(ledger.apply(raise("sda", 3), at(3)), Ok(Applied::Repeated));
}

#[test]
fn the_oldest_events_go_first_and_are_counted() {
    let mut ledger =
        small(Limits { events: 2, counted_reasons: Share { of_one: 1, of_granted: 1 }, ..Limits::default() });
    for reason in ["OOMKilling", "TaskHung", "KernelOops"] {
        let finding = Finding { condition: None, reason: Name::fixed(reason), ..raise("", 1) };
        ledger.apply(finding, at(1)).unwrap();
    }
    assert_eq!(ledger.take_events().iter().map(|event| event.id).collect::<Vec<_>>(), [2, 3]);
    let counters = ledger.counters();
    assert_eq!(counters.events_dropped, 1);
    let counted: Vec<String> = counters.raised.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    assert_eq!(counted, ["KernelOops 1", "OOMKilling 1", "TaskHung 1"], "rules' reasons are as many as rules have");
}

#[test]
fn an_untouched_condition_is_not_made_again() {
    let mut ledger = watched();
    let before = ledger.shared_conditions();
    ledger.apply(raise("sda", 1), at(1)).unwrap();
    let after = ledger.shared_conditions();
    assert!(!Arc::ptr_eq(&before[0], &after[0]) && Arc::ptr_eq(&before[1], &after[1]));
}
