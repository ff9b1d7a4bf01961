//! Random reports of a few daemons on a few things, so that everything meets everything.

use std::collections::BTreeMap;

use nodewell_model::{Condition, Event, Hardware, Status};
use proptest::prelude::*;

use super::{
    super::{steps::CONDITIONS, *},
    OnStale,
};

/// One thing that happens.
#[derive(Debug, Clone)]
pub(super) enum Deed {
    Report(Status, &'static str, OnStale),
    Wait(u8),
    /// A person ends every problem of the condition.
    ByHand(&'static str),
}

const SOURCES: [&str; 2] = ["raid", "smart"];
const PRINCIPALS: [&str; 2] = ["root", "uid:7"];
const REASONS: [&str; 3] = ["IOError", "SpareLow", "TaskHung"];
const MESSAGES: [&str; 3] = ["31 degrees", "32 degrees", "hot"];

pub(super) fn histories() -> impl Strategy<Value = Vec<Deed>> {
    let by_hand = prop::sample::select(&CONDITIONS[..]).prop_map(Deed::ByHand);
    let report = reported().prop_map(|(status, principal, on_stale)| Deed::Report(status, principal, on_stale));
    prop::collection::vec(prop_oneof![10 => report, 2 => (0_u8..40).prop_map(Deed::Wait), 1 => by_hand], 1..40)
}

/// A report of a daemon of a user, and what its grant says of silence.
pub(in crate::tests) fn reported() -> impl Strategy<Value = (Status, &'static str, OnStale)> {
    let last = (prop::bool::weighted(0.1), prop::option::of(0_u64..50));
    let flags = (prop::bool::weighted(0.2), last, any::<bool>(), 0_usize..2);
    let conditions = prop::collection::btree_map((0_usize..2, prop::option::of(0_u8..3)), subject_step(), 0..4);
    let id = prop::option::of(0_u8..12);
    let hardware = prop::option::weighted(0.3, hardware());
    (0_usize..2, conditions, 1_u64..50, id, (0_usize..2, hardware), flags).prop_map(
        |(source, conditions, ttl, id, (events, hardware), (full, (last, linger_secs), clears, principal))| {
            let status = Status {
                source: SOURCES[source].to_owned(),
                events: vec![event(); events],
                conditions: conditions
                    .into_iter()
                    .flat_map(|((condition, subject), step)| entries(condition, subject, step))
                    .collect(),
                hardware,
                ttl_secs: Some(ttl),
                id: id.map(|id| id.to_string()),
                full,
                last,
                linger_secs: linger_secs.filter(|_| last),
            };
            assert_eq!(status.check(), Ok(()));
            let on_stale = if clears { OnStale::Clear } else { OnStale::Keep };
            (status, PRINCIPALS[principal], on_stale)
        },
    )
}

fn hardware() -> impl Strategy<Value = Vec<Hardware>> {
    let class = (3_u32..6, prop::option::of(1_u32..3)).prop_map(|(total, lost)| {
        let states = lost.map(|lost| ("lost".to_owned(), lost)).into_iter().collect();
        Hardware { class: String::new(), total, states, ..Hardware::default() }
    });
    let classes = prop::collection::btree_map(prop::sample::select(vec!["disks", "GPUs"]), class, 0..3);
    classes.prop_map(|classes| {
        classes.into_iter().map(|(class, one)| Hardware { class: class.to_owned(), ..one }).collect()
    })
}

/// What is reported of one subject: False, Unknown, or True for some reasons.
#[derive(Debug)]
struct SubjectStep {
    status: u8,
    reasons: BTreeMap<usize, Claimed>,
}

#[derive(Debug)]
struct Claimed {
    transition: i64,
    message: usize,
}

fn subject_step() -> impl Strategy<Value = SubjectStep> {
    let claimed = (0_i64..3, 0_usize..3).prop_map(|(transition, message)| Claimed { transition, message });
    (0_u8..5, prop::collection::btree_map(0_usize..3, claimed, 1..4))
        .prop_map(|(status, reasons)| SubjectStep { status, reasons })
}

fn entries(condition: usize, subject: Option<u8>, step: SubjectStep) -> Vec<Condition> {
    let SubjectStep { status, reasons } = step;
    let status = match status {
        0 => ConditionStatus::False,
        1 => ConditionStatus::Unknown,
        _ => ConditionStatus::True,
    };
    let entry = |(reason, Claimed { transition, message })| Condition {
        condition: Name::fixed(CONDITIONS[condition]),
        status,
        transition: wall(transition * 100 - 50),
        reason: Name::fixed(REASONS[reason]),
        message: MESSAGES[message].to_owned(),
        // The same as those of findings: the two meet on them.
        subject: subject.map(|n| format!("sd{n}")),
        severity: None,
        action: None,
    };
    let several = if status == ConditionStatus::True { reasons.len() } else { 1 };
    // In any order: a set has none.
    reasons.into_iter().rev().take(several).map(entry).collect()
}

fn event() -> Event {
    Event {
        severity: Severity::Info,
        timestamp: wall(3),
        reason: Name::fixed("Seen"),
        message: "m".to_owned(),
        subject: None,
        seen_by: None,
    }
}
