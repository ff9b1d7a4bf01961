//! What is asked of a record: that what settles in the first seconds of a phase is neither written nor reported.
//!
//! Its log has the text of each of its Events `Blocked`, and when the phase began. The Events alone do not show it:
//! where an obstacle lasts for five seconds and a half, `Unblocked` rightly follows `Blocked` within half a second.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_cluster::{Cluster, worker::Worker};
use nodewell_tests::suite::Suite;
use serde_json::{Value, json};

/// `SETTLES_WITHIN` of the controller's fence/blockers.rs, less what wall clocks are slewed by.
const SETTLED: Duration = Duration::from_secs(4);
/// What may settle, by the same file.
const MAY_SETTLE: [&str; 9] = [
    "WithinGracePeriod",
    "NodeReady",
    "PredicateFalse",
    "AwaitingReady",
    "AttachmentsUnknown",
    "AttachmentsLeft",
    "AttachmentsStuck",
    "PodsUnknown",
    "FenceNotReady",
];
/// The messages `Blocked/record` and `Unblocked`.
const BLOCKED: &str = "remediation is blocked by ";
const UNBLOCKED: &str = "nothing blocks remediation any more";

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("settles").case("what_is_written_too_soon_is_noticed", what_is_written_too_soon_is_noticed);
}

/// Of the record that the node has or had last.
#[track_caller]
pub(crate) fn assert_nothing_too_soon(cluster: &Cluster, worker: &Worker) {
    let record = cluster.api().newest_record(worker.name()).expect("a record, or a copy of one");
    let log = record["status"]["log"].as_array().expect("a log");
    assert_eq!(too_soon(log), None, "{log:?}");
}

/// What was written too early in its phase, although it may settle.
fn too_soon(log: &[Value]) -> Option<&str> {
    let (mut phase, mut begun, mut is_blocked) = ("", Timestamp::UNIX_EPOCH, false);
    for entry in log {
        let (at, text) = (entry["at"].as_str().unwrap(), entry["text"].as_str().unwrap());
        let at: Timestamp = at.parse().unwrap();
        if let Some(blockers) = text.strip_prefix(BLOCKED) {
            let is_early = Duration::try_from(at.duration_since(begun)).is_ok_and(|age| age < SETTLED);
            // What is left of several obstacles is written when the others are gone.
            if is_early && !is_blocked && may_settle(blockers) {
                return Some(text);
            }
            is_blocked = true;
        } else if text == UNBLOCKED {
            is_blocked = false;
        } else if let Some(entered) = first_word(text) {
            if entered != phase {
                (phase, begun) = (entered, at);
            }
            is_blocked = false;
        }
    }
    None
}

/// All of these.
fn may_settle(blockers: &str) -> bool {
    blockers.split("; ").filter_map(first_word).all(|reason| MAY_SETTLE.contains(&reason))
}

/// The phase that an entry enters, or a blocker's reason: one word before a colon.
fn first_word(text: &str) -> Option<&str> {
    let (word, _) = text.split_once(": ")?;
    (word.starts_with(char::is_uppercase) && word.chars().all(char::is_alphanumeric)).then_some(word)
}

fn what_is_written_too_soon_is_noticed() {
    const GUARDS: &str = "AwaitGuards: the Node is cordoned; next is step 2: powerCycle";
    const OFF: &str = "PoweringOff: power off is intended: Leases silent for 75 s";
    const UNREAD: &str = "remediation is blocked by FenceNotReady: not read yet; they are read within seconds";
    const BUDGET: &str = "remediation is blocked by BudgetCluster: 2 of 3; bring nodes back";
    const BOTH: &str = "remediation is blocked by FenceNotReady: not read yet; BudgetCluster: 2 of 3";
    for (entries, found) in [
        (vec![(0, GUARDS), (0, UNREAD), (0, UNBLOCKED)], Some(UNREAD)),
        (vec![(0, GUARDS), (5, UNREAD), (5, UNBLOCKED)], None),
        (vec![(0, GUARDS), (0, BUDGET)], None),
        (vec![(0, GUARDS), (0, BOTH), (1, UNREAD)], None),
        (vec![(0, GUARDS), (9, UNREAD), (9, OFF), (10, UNREAD)], Some(UNREAD)),
        (vec![(0, GUARDS), (9, UNREAD), (9, GUARDS), (10, UNREAD)], None),
    ] {
        let entry = |&(second, text): &(u8, &str)| json!({ "at": at(second), "text": text });
        let log: Vec<Value> = entries.iter().map(entry).collect();
        assert_eq!(too_soon(&log), found, "{entries:?}");
    }
}

fn at(second: u8) -> String {
    format!("2026-01-01T00:00:{second:02}.5Z")
}
