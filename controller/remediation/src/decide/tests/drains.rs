//! How many pods a drain under way counts as moved.

use super::{
    records::{at_power, drains, status},
    *,
};
use crate::facts::Pod;

fn list(snapshot: &mut Snapshot, pods: usize, second: u64) {
    snapshot.gathered.get_mut("n0").unwrap().pods = Some((at(second), vec![Pod::default(); pods]));
}

/// For whichever other node.
fn moved(memory: &Memory, second: u64) -> usize {
    let rate = Rate { count: 5, window: Duration::from_secs(600) };
    memory.history.pods("p", rate, "n1", at(second))
}

/// `n0` is being drained since 1001, with three pods.
fn draining() -> (Snapshot, Memory) {
    let mut snapshot = at_power();
    let memory = decide_by(drains, &snapshot, Memory::default(), now(1001)).memory;
    snapshot.busy.insert("n0".into());
    (snapshot, memory)
}

/// An eviction that was refused for minutes moves a pod long after the drain began.
#[test]
fn it_counts_for_as_long_as_it_lasts_and_once_more_when_it_has_ended() {
    let (mut snapshot, mut memory) = draining();
    for second in [1300, 1900] {
        memory = run(&snapshot, memory, second).memory;
        assert_eq!(moved(&memory, second + 599), 3);
    }
    // Another node's act is none of it, and the pods of a record that was deleted are not listed any more.
    snapshot.busy = ["n9".to_owned()].into();
    snapshot.gathered.clear();
    memory = run(&snapshot, memory, 1910).memory;
    assert_eq!(moved(&memory, 2509), 3);
    memory = run(&snapshot, memory, 2000).memory;
    assert_eq!(moved(&memory, 2510), 0);
}

/// What it moved within the window, and what it may move yet: one that hangs does not count for ever what it moved at first.
#[test]
fn what_it_moved_before_the_window_counts_no_more() {
    let (mut snapshot, mut memory) = draining();
    list(&mut snapshot, 1, 1060);
    for (second, expected) in [(1060, 3), (1659, 3), (1660, 1), (3000, 1)] {
        memory = run(&snapshot, memory, second).memory;
        assert_eq!(moved(&memory, second), expected, "{second}");
    }
}

/// No pass was made for longer than the window.
#[test]
fn all_that_was_before_the_window_is_forgotten_at_once() {
    let (mut snapshot, mut memory) = draining();
    for (second, pods) in [(1010, 2), (1020, 1)] {
        list(&mut snapshot, pods, second);
        memory = run(&snapshot, memory, second).memory;
    }
    memory = run(&snapshot, memory, 1700).memory;
    assert_eq!(moved(&memory, 1700), 1);
}

/// They go, too.
#[test]
fn pods_that_came_while_it_lasts_count() {
    let (mut snapshot, mut memory) = draining();
    for (second, pods, expected) in [(1100, 2, 3), (1200, 4, 4), (1300, 1, 4), (1799, 1, 4), (1900, 1, 1)] {
        list(&mut snapshot, pods, second);
        memory = run(&snapshot, memory, second).memory;
        assert_eq!(moved(&memory, second), expected, "{second}");
    }
}

/// Those that the node lost by another act of the policy right before are not forgotten.
#[test]
fn it_begins_with_what_is_counted_of_its_node() {
    let snapshot = at_power();
    let mut memory = Memory::default();
    memory.history.charge_pods("p", "n0", 7, at(900));
    let mut memory = decide_by(drains, &snapshot, memory, now(1001)).memory;
    memory = run(&snapshot, memory, 1002).memory;
    assert_eq!(moved(&memory, 1002), 7);
}

/// Its status is saved while it waits.
#[test]
fn a_drain_that_was_not_begun_counts_for_nothing() {
    let mut snapshot = at_power();
    status(&mut snapshot).phase = Phase::Draining;
    snapshot.busy.insert("n0".into());
    assert_eq!(moved(&run(&snapshot, Memory::default(), 1001).memory, 1001), 0);
}

/// Its policy is gone: the longest window counts.
#[test]
fn without_its_policy_it_counts_by_the_longest_window() {
    let (mut snapshot, mut memory) = draining();
    snapshot.policies[0].name = "q".into();
    snapshot.policies[0].budget.rate = Some(Rate { count: 1, window: Duration::from_secs(7200) });
    list(&mut snapshot, 1, 1060);
    for (second, expected) in [(1060, 3), (8259, 3), (8260, 1)] {
        memory = run(&snapshot, memory, second).memory;
        assert_eq!(memory.history.pods_of("p", "n0"), expected, "{second}");
    }
}
