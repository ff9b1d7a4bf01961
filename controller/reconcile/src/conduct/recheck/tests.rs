//! What is read once more before an act: each thing that forbids it, and the few that do not.

use jiff::Timestamp;
use nodewell_remedy::{
    api::{
        Meta,
        fence::{Confirmation, Intent, NodeFenceSpec, NodeFenceStatus},
    },
    facts::{Condition, Truth},
};

use super::*;

fn meant(act: Irreversible) -> NodeFence {
    let intent = Some(Intent { act, epoch: 1, at: Timestamp::UNIX_EPOCH });
    NodeFence {
        metadata: Meta { name: "n".into(), uid: "u".into(), resource_version: "1".into(), ..Meta::default() },
        spec: NodeFenceSpec { node_name: "n".into(), node_uid: "n".into(), ..NodeFenceSpec::default() },
        status: NodeFenceStatus { intent, boot_id: "old".into(), ..NodeFenceStatus::default() },
    }
}

fn ready(boot_id: &str) -> Node {
    let ready = Condition { kind: "Ready".into(), status: Truth::True, ..Condition::default() };
    Node {
        name: "n".into(),
        uid: "n".into(),
        resource_version: "1".into(),
        conditions: vec![ready],
        boot_id: boot_id.into(),
        ..Node::default()
    }
}

fn aborted(act: Irreversible) -> Refusal {
    let mut fence = meant(act);
    fence.spec.abort = true;
    check_record(&fence, (act, 1), Ok(Some(fence.clone())))
}

/// Or the machine would be off for ever, in doubt again and again.
#[test]
fn an_aborted_record_may_still_turn_its_machine_on() {
    assert_eq!(aborted(Irreversible::PowerOn), Ok(()));
}

#[test]
fn an_aborted_record_begins_nothing_else() {
    for act in [Irreversible::PowerOff, Irreversible::Release, Irreversible::Reap] {
        assert!(aborted(act).is_err(), "{act:?}");
    }
}

fn cut_off(release_begun: bool) -> NodeFence {
    let mut fence = meant(Irreversible::PowerOn);
    fence.status.storage_only = Some("san".into());
    fence.status.release_begun = release_begun;
    fence
}

#[test]
fn storage_is_given_back_to_a_node_that_speaks_after_a_new_boot() {
    assert!(may_speak(&cut_off(true), Irreversible::PowerOn, &ready("new")));
}

#[test]
fn storage_is_given_back_to_a_node_that_speaks_if_nothing_was_released() {
    assert!(may_speak(&cut_off(false), Irreversible::PowerOn, &ready("old")));
}

#[test]
fn storage_is_not_given_back_to_the_boot_whose_pods_were_released() {
    assert!(!may_speak(&cut_off(true), Irreversible::PowerOn, &ready("old")));
    assert!(!may_speak(&cut_off(true), Irreversible::PowerOn, &ready("")));
}

#[test]
fn storage_is_not_cut_off_a_node_that_speaks() {
    assert!(!may_speak(&cut_off(false), Irreversible::PowerOff, &ready("new")));
    assert!(!may_speak(&cut_off(false), Irreversible::Release, &ready("new")));
}

fn drained(left: u32) -> NodeFence {
    let mut fence = meant(Irreversible::PowerOff);
    fence.status.drain = Some(DrainReport { done: true, blocked: Vec::new(), left });
    fence
}

#[test]
fn a_node_may_speak_only_if_nothing_runs_there_that_the_act_would_end() {
    let node = ready("old");
    assert!(may_speak(&drained(0), Irreversible::PowerOff, &node));
    assert!(!may_speak(&drained(1), Irreversible::PowerOff, &node));
}

#[test]
fn the_pods_of_a_storage_go_while_the_node_speaks_and_only_once_it_is_cut_off() {
    let mut cut = meant(Irreversible::Release);
    cut.status.storage_only = Some("san".into());
    assert!(!may_speak(&cut, Irreversible::Release, &ready("old")), "nothing was confirmed");
    cut.status.off = Some(confirmation());
    assert!(may_speak(&cut, Irreversible::Release, &ready("old")));
}

fn confirmation() -> Confirmation {
    let at = Timestamp::UNIX_EPOCH;
    Confirmation { at, reads: 2, by: Vec::new(), boot_id: "old".into(), passive: false, epoch: 1 }
}

/// It may have begun to write before the storage was cut off, and would get it back as a new boot.
#[test]
fn the_pods_of_a_boot_that_the_record_does_not_know_are_not_released_while_it_runs() {
    let mut cut = meant(Irreversible::Release);
    cut.status.off = Some(confirmation());
    assert_eq!(check_standing(&cut, Irreversible::Release, &ready("new")), Ok(()), "it is off, whatever its boot");
    cut.status.storage_only = Some("san".into());
    assert_eq!(check_standing(&cut, Irreversible::Release, &ready("old")), Ok(()));
    for another in ["new", ""] {
        assert!(check_standing(&cut, Irreversible::Release, &ready(another)).is_err(), "{another:?}");
    }
}

#[test]
fn a_node_that_booted_since_or_that_an_autoscaler_takes_away_is_left_alone() {
    let fence = meant(Irreversible::PowerOff);
    assert_eq!(check_standing(&fence, Irreversible::PowerOff, &ready("old")), Ok(()));
    assert!(check_standing(&fence, Irreversible::PowerOff, &ready("new")).is_err());
    assert_eq!(check_standing(&fence, Irreversible::PowerOn, &ready("new")), Ok(()));
    let deleted = Node { deleting: true, ..ready("old") };
    assert!(check_standing(&fence, Irreversible::Reap, &deleted).is_err());
}
