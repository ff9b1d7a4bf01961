//! What is read once more before an act: each thing that forbids it, and the few that do not.

use jiff::Timestamp;
use nodewell_remediation::{
    api::{
        Meta, STORAGE_RELEASED,
        fence::{Confirmation, Intent, NodeFenceSpec, NodeFenceStatus},
    },
    facts::{Condition, ConditionStatus},
};

use super::*;

fn intended(op: IntendedOp) -> NodeFence {
    let intent = Some(Intent { op, epoch: 1, at: Timestamp::UNIX_EPOCH, pods: 0 });
    NodeFence {
        metadata: Meta { name: "n".into(), uid: "u".into(), resource_version: "1".into(), ..Meta::default() },
        spec: NodeFenceSpec { node_name: "n".into(), node_uid: "n".into(), ..NodeFenceSpec::default() },
        status: NodeFenceStatus { intent, boot_id: "old".into(), ..NodeFenceStatus::default() },
    }
}

fn ready(boot_id: &str) -> Node {
    let ready = Condition { kind: "Ready".into(), status: ConditionStatus::True, ..Condition::default() };
    Node {
        name: "n".into(),
        uid: "n".into(),
        resource_version: "1".into(),
        conditions: vec![ready],
        boot_id: boot_id.into(),
        ..Node::default()
    }
}

fn aborted(op: IntendedOp) -> Check {
    let mut fence = intended(op);
    fence.spec.abort = true;
    check_record(&fence, op, 1, Ok(Some(fence.clone())))
}

/// Or the machine would be off for ever, in doubt again and again.
#[test]
fn an_aborted_record_may_still_turn_its_machine_on() {
    assert_eq!(aborted(IntendedOp::PowerOn), Ok(()));
}

#[test]
fn an_aborted_record_begins_nothing_else() {
    for op in [IntendedOp::PowerOff, IntendedOp::Release, IntendedOp::Reap] {
        assert!(aborted(op).is_err(), "{op:?}");
    }
}

fn cut_off(release_begun: bool) -> NodeFence {
    let mut fence = intended(IntendedOp::PowerOn);
    fence.status.storage_only = Some("san".into());
    fence.status.release_begun = release_begun;
    fence
}

#[test]
fn storage_is_restored_to_a_node_that_speaks_after_a_new_boot() {
    assert!(may_speak(&cut_off(true), IntendedOp::PowerOn, &ready("new")));
}

#[test]
fn storage_is_restored_to_a_node_that_speaks_if_nothing_was_released() {
    assert!(may_speak(&cut_off(false), IntendedOp::PowerOn, &ready("old")));
}

#[test]
fn storage_is_not_restored_to_the_boot_whose_pods_were_released() {
    assert!(!may_speak(&cut_off(true), IntendedOp::PowerOn, &ready("old")));
    assert!(!may_speak(&cut_off(true), IntendedOp::PowerOn, &ready("")));
}

#[test]
fn storage_is_not_cut_off_a_node_that_speaks() {
    assert!(!may_speak(&cut_off(false), IntendedOp::PowerOff, &ready("new")));
    assert!(!may_speak(&cut_off(false), IntendedOp::Release, &ready("new")));
}

fn drained(left: u32) -> NodeFence {
    let mut fence = intended(IntendedOp::PowerOff);
    fence.status.drain = Some(DrainReport { done: true, refused_evictions: Vec::new(), left });
    fence
}

#[test]
fn a_node_may_speak_only_if_nothing_runs_there_that_the_act_would_end() {
    let node = ready("old");
    assert!(may_speak(&drained(0), IntendedOp::PowerOff, &node));
    assert!(!may_speak(&drained(1), IntendedOp::PowerOff, &node));
}

#[test]
fn the_pods_of_a_storage_go_while_the_node_speaks_and_only_once_it_is_cut_off() {
    let mut cut = intended(IntendedOp::Release);
    cut.status.storage_only = Some("san".into());
    assert!(!may_speak(&cut, IntendedOp::Release, &ready("old")), "nothing was confirmed");
    cut.status.off = Some(confirmation());
    assert!(may_speak(&cut, IntendedOp::Release, &ready("old")));
}

fn confirmation() -> Confirmation {
    let at = Timestamp::UNIX_EPOCH;
    Confirmation { at, reads: 2, by: Vec::new(), boot_id: "old".into(), already_off: false, epoch: 1 }
}

/// It may have begun to write before the storage was cut off, and would get it back as a new boot. Of a machine that is off
/// the boot that it names is the one that Off has to be read of.
#[test]
fn the_pods_of_a_boot_that_the_record_does_not_know_are_not_released() {
    for storage in [None, Some("san".to_owned())] {
        let mut cut = intended(IntendedOp::Release);
        cut.status.off = Some(confirmation());
        cut.status.storage_only = storage.clone();
        assert_eq!(check_standing(&cut, IntendedOp::Release, &ready("old")), Ok(()));
        for another in ["new", ""] {
            assert!(check_standing(&cut, IntendedOp::Release, &ready(another)).is_err(), "{another:?} {storage:?}");
        }
    }
}

/// Whatever became of the record that cut it off.
#[test]
fn a_boot_whose_pods_were_released_does_not_get_its_storage_back() {
    let mut fresh = intended(IntendedOp::PowerOn);
    fresh.status.storage_only = Some("san".into());
    let mut node = ready("old");
    assert!(may_speak(&fresh, IntendedOp::PowerOn, &node));
    node.annotations.insert(STORAGE_RELEASED.into(), "old".into());
    assert!(!may_speak(&fresh, IntendedOp::PowerOn, &node));
    node.boot_id = String::new();
    assert!(!may_speak(&fresh, IntendedOp::PowerOn, &node), "it is not known to be another boot");
    node.boot_id = "new".into();
    assert!(may_speak(&fresh, IntendedOp::PowerOn, &node));
}

#[test]
fn a_node_that_booted_since_or_that_an_autoscaler_takes_away_is_left_alone() {
    let fence = intended(IntendedOp::PowerOff);
    assert_eq!(check_standing(&fence, IntendedOp::PowerOff, &ready("old")), Ok(()));
    assert!(check_standing(&fence, IntendedOp::PowerOff, &ready("new")).is_err());
    assert_eq!(check_standing(&fence, IntendedOp::PowerOn, &ready("new")), Ok(()));
    let deleted = Node { deleting: true, ..ready("old") };
    assert!(check_standing(&fence, IntendedOp::Reap, &deleted).is_err());
}

/// Power is cut by the silence of a Lease, and pods are released by it; one that was deleted meanwhile shows nothing. A
/// machine that is turned on may have none, and so may one whose record knows of none.
#[test]
fn without_a_lease_nothing_ends_a_machine_and_no_pods_are_released() {
    let silent = Node { conditions: Vec::new(), ..ready("old") };
    for (op, may_begin_without) in [
        (IntendedOp::PowerOff, [false, false]),
        (IntendedOp::Reap, [false, false]),
        (IntendedOp::Release, [true, false]),
        (IntendedOp::PowerOn, [true, true]),
    ] {
        for (had_one, may_begin) in [false, true].into_iter().zip(may_begin_without) {
            let mut fence = intended(op);
            fence.status.lease_renewed = had_one.then_some(Timestamp::UNIX_EPOCH);
            assert_eq!(check_without_lease(&fence, op, &silent).is_ok(), may_begin, "{op:?} {had_one}");
            assert!(check_without_lease(&fence, op, &ready("old")).is_err(), "{op:?} {had_one}");
        }
    }
}

/// One that was not named when the act was intended may have begun since.
#[test]
fn a_boot_that_one_side_does_not_name_is_another() {
    for op in [IntendedOp::PowerOff, IntendedOp::Reap, IntendedOp::Release] {
        let mut fence = intended(op);
        assert!(check_standing(&fence, op, &ready("")).is_err(), "{op:?}: the Node names none");
        fence.status.boot_id.clear();
        assert!(check_standing(&fence, op, &ready("new")).is_err(), "{op:?}: the record names none");
        assert_eq!(check_standing(&fence, op, &ready("")), Ok(()), "{op:?}: it never named one");
    }
}
