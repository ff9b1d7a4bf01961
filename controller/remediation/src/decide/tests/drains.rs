//! How many pods a drain under way counts as moved.

use super::{
    records::{at_power, drains, releases, status},
    *,
};
use crate::{
    api::fence::{IntendedOp, Intent},
    decide::{CountedPods, Handover, forget_evicted},
    facts::{Deletion, Owner, Pod, PodRef},
    snapshot::PodSource,
};

fn pods<const COUNT: usize>(names: [&str; COUNT]) -> Vec<Pod> {
    names.map(|name| Pod { at: PodRef { name: name.into(), ..PodRef::default() }, ..Pod::default() }).into()
}

fn list<const COUNT: usize>(snapshot: &mut Snapshot, names: [&str; COUNT], second: u64) {
    snapshot.gathered.get_mut("n0").unwrap().pods = Some((at(second), pods(names)));
}

fn source() -> PodSource {
    PodSource { policy: "p".into(), node: "n0".into() }
}

fn evict(snapshot: &mut Snapshot, name: &str, second: u64) {
    let evicted = snapshot.evicted.entry(source()).or_default();
    evicted.insert(PodRef { name: name.into(), ..PodRef::default() }, at(second));
}

fn rate() -> Rate {
    Rate { count: 5, window: Duration::from_secs(600) }
}

/// For whichever other node.
fn moved(memory: &Memory, second: u64) -> usize {
    memory.history.pods("p", rate(), "n1", at(second))
}

/// Of `n0`: released, evicted, awaited.
fn counted(snapshot: &Snapshot, memory: &Memory, second: u64) -> [usize; 3] {
    let CountedPods { released, evicted, awaited, .. } = memory.counted_pods(snapshot, now(second))[&source()];
    [released, evicted, awaited]
}

/// `n0` is being drained since 1001, of three pods.
fn draining() -> (Snapshot, Memory) {
    let mut snapshot = at_power();
    snapshot.policies[0].pods = rate();
    list(&mut snapshot, ["a", "b", "c"], 1001);
    let memory = decide_by(drains, &snapshot, Memory::default(), now(1001)).memory;
    snapshot.busy.insert("n0".into());
    (snapshot, memory)
}

/// An eviction that was refused for minutes moves a pod long after the drain began.
#[test]
fn what_it_may_evict_yet_counts_for_as_long_as_it_lasts() {
    let (mut snapshot, mut memory) = draining();
    for second in [1300, 1900] {
        memory = run(&snapshot, memory, second).memory;
        assert_eq!(moved(&memory, second + 900), 3);
    }
    // The pods of a record that was deleted are not listed any more.
    snapshot.gathered.clear();
    memory = run(&snapshot, memory, 1910).memory;
    assert_eq!(moved(&memory, 1910), 3);
    // It has ended; another node's act is none of it.
    snapshot.busy = ["n9".to_owned()].into();
    memory = run(&snapshot, memory, 2000).memory;
    assert_eq!(moved(&memory, 2000), 0, "it moved none");
}

/// Each pod once, and no longer than for the window.
#[test]
fn what_it_evicted_counts_for_the_window() {
    let (mut snapshot, mut memory) = draining();
    evict(&mut snapshot, "a", 1050);
    memory = run(&snapshot, memory, 1060).memory;
    assert_eq!(moved(&memory, 1060), 3, "it is still listed, for it is ending");
    list(&mut snapshot, ["b"], 1070);
    memory = run(&snapshot, memory, 1070).memory;
    assert_eq!((moved(&memory, 1070), moved(&memory, 1649), moved(&memory, 1650)), (2, 2, 1), "another took c");
    snapshot.busy.clear();
    memory = run(&snapshot, memory, 1080).memory;
    assert_eq!((moved(&memory, 1649), moved(&memory, 1650)), (1, 0), "it has ended");
}

/// Where a node is not cordoned the pods that go come back.
#[test]
fn pods_that_came_while_it_lasts_count_beside_those_that_went() {
    let (mut snapshot, mut memory) = draining();
    ["a", "b", "c"].iter().for_each(|name| evict(&mut snapshot, name, 1050));
    list(&mut snapshot, ["d"], 1060);
    memory = run(&snapshot, memory, 1060).memory;
    assert_eq!(moved(&memory, 1060), 4);
}

/// A node with more pods than the rate lets go in a window.
#[test]
fn one_in_portions_counts_for_no_more_than_the_rate() {
    let (mut snapshot, mut memory) = draining();
    list(&mut snapshot, ["a", "b", "c", "d", "e", "f", "g"], 1010);
    memory = run(&snapshot, memory, 1010).memory;
    assert_eq!(moved(&memory, 1010), 5);
    ["a", "b", "c", "d", "e"].iter().for_each(|name| evict(&mut snapshot, name, 1050));
    memory = run(&snapshot, memory, 1060).memory;
    assert_eq!((moved(&memory, 1060), moved(&memory, 1649), moved(&memory, 1650)), (5, 5, 2));
}

/// Those that the node lost by another act of the policy right before are not forgotten.
#[test]
fn what_a_node_lost_before_counts_beside_its_drain() {
    let (snapshot, _) = draining();
    let mut memory = Memory::default();
    memory.history.charge_pods("p", "n0", 7, at(900));
    let mut memory =
        decide_by(drains, &Snapshot { busy: Default::default(), ..snapshot.clone() }, memory, now(1001)).memory;
    memory = run(&snapshot, memory, 1002).memory;
    assert_eq!(counted(&snapshot, &memory, 1002), [7, 0, 0], "no more may go in this window");
    assert_eq!(counted(&snapshot, &memory, 1500), [0, 0, 3]);
}

/// Its status is saved while it waits.
#[test]
fn a_drain_that_was_not_begun_counts_for_nothing() {
    let mut snapshot = at_power();
    status(&mut snapshot).phase = Phase::Draining;
    snapshot.busy.insert("n0".into());
    assert_eq!(moved(&run(&snapshot, Memory::default(), 1001).memory, 1001), 0);
}

/// What the policy says of pods when it comes back is not known.
#[test]
fn without_its_policy_all_of_it_counts() {
    let (mut snapshot, mut memory) = draining();
    snapshot.policies[0].name = "q".into();
    evict(&mut snapshot, "a", 1050);
    memory = run(&snapshot, memory, 1060).memory;
    assert_eq!(counted(&snapshot, &memory, 1060), [0, 1, 2]);
}

/// As it is written to the Lease, and read by a leader whose clock began elsewhere; the leader before lived for 13 s more.
fn taken_over(snapshot: &Snapshot, memory: &Memory, second: u64) -> Memory {
    let text = serde_json::to_string(&memory.handover(snapshot, now(second))).unwrap();
    let handover: Handover = serde_json::from_str(&text).unwrap();
    Memory::inherited(&handover.aged(Duration::from_secs(20), Duration::from_secs(15)), now(500_000))
}

/// The leader before evicted it right before it was killed: it is listed until it has ended.
#[test]
fn a_pod_that_is_being_deleted_went_under_the_leader_before() {
    let (mut snapshot, memory) = draining();
    let mut next = taken_over(&snapshot, &memory, 1001);
    snapshot.busy.clear();
    let (_, listed) = snapshot.gathered.get_mut("n0").unwrap().pods.as_mut().unwrap();
    listed[0].deleting = Some(Deletion { at: now(1040).wall, grace: Duration::from_secs(30) });
    next = decide_by(drains, &snapshot, next, now(500_001)).memory;
    assert_eq!(counted(&snapshot, &next, 500_001), [1, 0, 2]);
}

/// On a dead node it goes by force alone; under the leader before it may have gone, too.
#[test]
fn a_pod_that_is_being_deleted_counts_where_the_drain_may_force_it() {
    for (force_on_timeout, awaited) in [(false, 2), (true, 3)] {
        let (snapshot, memory) = draining();
        let mut next = taken_over(&snapshot, &memory, 1001);
        let mut listed = pods(["a", "b", "c"]);
        listed[0].deleting = Some(Deletion { at: now(1040).wall, grace: Duration::from_secs(30) });
        let rules = DrainRules { force_on_timeout, ..rules() };
        next.history.begin_drain(&snapshot.fences["n0"], &rules, Some(&listed), 9, now(500_001));
        assert_eq!(counted(&snapshot, &next, 500_001), [1, 0, awaited]);
    }
}

/// Until the drain goes on, those that were there at the last renewal may all have gone; then it is seen which are left.
#[test]
fn a_drain_of_the_leader_before_is_counted_by_what_is_left() {
    for (left, went) in [(&["b", "c"][..], 1), (&["c"], 2), (&[], 3)] {
        let (mut snapshot, mut memory) = draining();
        evict(&mut snapshot, "a", 1050);
        list(&mut snapshot, ["b", "c"], 1060);
        memory = run(&snapshot, memory, 1060).memory;
        let mut next = taken_over(&snapshot, &memory, 1060);
        assert_eq!(moved(&next, 500_000), 3);
        // The age of the one that went is 10 s and 5 more; of what may have gone it is 5.
        assert_eq!((moved(&next, 500_584), moved(&next, 500_585), moved(&next, 500_595)), (3, 2, 0));
        (snapshot.evicted, snapshot.busy) = Default::default();
        let names = left.iter().map(|name| PodRef { name: (*name).into(), ..PodRef::default() });
        let listed = names.map(|at| Pod { at, ..Pod::default() }).collect();
        snapshot.gathered.get_mut("n0").unwrap().pods = Some((at(500_001), listed));
        next = decide_by(drains, &snapshot, next, now(500_001)).memory;
        assert_eq!(counted(&snapshot, &next, 500_001), [went, 0, left.len()], "{left:?}");
        // It is begun again after a pause: nothing of it is counted off twice.
        next = decide_by(drains, &snapshot, next, now(500_002)).memory;
        assert_eq!(counted(&snapshot, &next, 500_002), [went, 0, left.len()], "{left:?}");
    }
}

/// They came since, and go beside those that went under the leader before.
#[test]
fn what_the_leader_before_drained_to_its_end_counts_beside_another_drain() {
    let (mut snapshot, mut memory) = draining();
    ["a", "b", "c"].iter().for_each(|name| evict(&mut snapshot, name, 1050));
    snapshot.busy.clear();
    memory = run(&snapshot, memory, 1060).memory;
    let mut next = taken_over(&snapshot, &memory, 1060);
    snapshot.evicted.clear();
    list(&mut snapshot, ["d"], 500_001);
    next = decide_by(drains, &snapshot, next, now(500_001)).memory;
    assert_eq!(moved(&next, 500_001), 4);
}

/// It was killed right after the act, before its next renewal. The clock of its host is an hour ahead.
#[test]
fn a_release_that_no_lease_shows_is_counted_by_its_record() {
    let by_its_clock = |second: u64| Now { wall: now(second + 3600).wall, ..now(second) };
    for (released_at, handed_over, expected) in
        [(1000, 0, 3), (1005, 0, 3), (1005, 2, 3), (999, 0, 0), (999, 2, 2), (1005, 3, 3)]
    {
        let mut snapshot = at_power();
        let mut memory = Memory::default();
        if handed_over > 0 {
            memory.history.charge_release(
                &snapshot.fences["n0"],
                None,
                handed_over,
                Duration::from_secs(600),
                at(1000),
            );
        }
        let text = serde_json::to_string(&memory.handover(&snapshot, by_its_clock(1000))).unwrap();
        memory = Memory::inherited(&serde_json::from_str(&text).unwrap(), now(500_000));
        let status = status(&mut snapshot);
        (status.released, status.released_at) = (3, Some(by_its_clock(released_at).wall));
        for second in [500_000, 500_100] {
            memory = run(&snapshot, memory, second).memory;
            assert_eq!(moved(&memory, second), expected, "{released_at} {handed_over}");
        }
        memory = run(&snapshot, memory, 500_600).memory;
        assert_eq!(moved(&memory, 500_600), 0, "it is over, whatever the record shows");
    }
}

fn intends(snapshot: &mut Snapshot, pods: u32) {
    let at = now(1001).wall;
    status(snapshot).intent = Some(Intent { op: IntendedOp::Release, epoch: 1, at, pods });
}

/// Its end is in doubt for long, or a person has it wait: it would hold up all others for as long.
#[test]
fn a_release_that_is_intended_for_long_counts_for_a_window_of_each_leader() {
    let mut snapshot = at_power();
    intends(&mut snapshot, 3);
    let mut memory = Memory::default();
    for term in [0, 100_000] {
        for (second, expected) in [(1000, 3), (1599, 3), (1600, 0), (2300, 0), (9000, 0)] {
            memory = run(&snapshot, memory, term + second).memory;
            assert_eq!(moved(&memory, term + second), expected, "{term} {second}");
        }
        memory = taken_over(&snapshot, &memory, 9000);
    }
}

/// By the leader that intended it, and by each that goes on with it.
#[test]
fn a_release_that_is_intended_counts_once_under_each_leader() {
    let mut snapshot = at_power();
    let mut memory = decide_by(releases, &snapshot, Memory::default(), now(1001)).memory;
    intends(&mut snapshot, 3);
    for _ in 0..2 {
        memory = taken_over(&snapshot, &memory, 1001);
        memory = run(&snapshot, memory, 500_000).memory;
        memory = decide_by(releases, &snapshot, memory, now(500_001)).memory;
        assert_eq!(moved(&memory, 500_001), 3);
        memory = decide_by(releases, &snapshot, memory, now(1001)).memory;
    }
    // What another leader intended and has not handed over is learned before any other node's turn.
    let memory = run(&snapshot, Memory::default(), 1002).memory;
    assert_eq!(moved(&memory, 1002), 3);
}

/// The machine was turned on, and off again: other pods go.
#[test]
fn a_second_release_of_a_record_counts_beside_the_first() {
    let mut snapshot = at_power();
    let first = decide_by(releases, &snapshot, Memory::default(), now(1001)).memory;
    (status(&mut snapshot).released, status(&mut snapshot).released_at) = (3, Some(now(1001).wall));
    for (second, expected) in [(1300, 6), (1601, 3)] {
        let mut memory = first.clone();
        for second in [second, second + 1] {
            memory = decide_by(releases, &snapshot, memory, now(second)).memory;
            assert_eq!(moved(&memory, second), expected);
        }
        intends(&mut snapshot, 3);
        memory = taken_over(&snapshot, &memory, second + 1);
        memory = decide_by(releases, &snapshot, memory, now(500_001)).memory;
        assert_eq!(moved(&memory, 500_001), expected, "under another leader");
        status(&mut snapshot).intent = None;
    }
}

/// They are ending, and listed until they have ended.
#[test]
fn pods_that_a_drain_evicted_are_not_counted_again_by_the_release() {
    for by_another in [false, true] {
        let (mut snapshot, mut memory) = draining();
        ["a", "b"].iter().for_each(|name| evict(&mut snapshot, name, 1050));
        let (_, listed) = snapshot.gathered.get_mut("n0").unwrap().pods.as_mut().unwrap();
        let ending = Some(Deletion { at: now(1080).wall, grace: Duration::from_secs(30) });
        listed[..2].iter_mut().for_each(|pod| pod.deleting = ending);
        snapshot.busy.clear();
        memory = run(&snapshot, memory, 1060).memory;
        let mut second = 1061;
        if by_another {
            memory = taken_over(&snapshot, &memory, 1060);
            snapshot.evicted.clear();
            second = 500_001;
        }
        memory = decide_by(releases, &snapshot, memory, now(second)).memory;
        assert_eq!(moved(&memory, second), 3, "{by_another}");
    }
}

/// A drain of the leader before, of a node that died under it. What DaemonSets own it did not await.
#[test]
fn pods_that_are_released_did_not_go_by_the_drain_before() {
    let (mut snapshot, memory) = draining();
    let next = taken_over(&snapshot, &memory, 1001);
    list(&mut snapshot, ["b", "c", "d"], 500_001);
    let (_, listed) = snapshot.gathered.get_mut("n0").unwrap().pods.as_mut().unwrap();
    let (kind, name, uid) = ("DaemonSet".into(), "d".into(), "d".into());
    listed[2].owner = Some(Owner { kind, name, uid, gone: false });
    snapshot.busy.clear();
    let next = decide_by(releases, &snapshot, next, now(500_001)).memory;
    assert_eq!(counted(&snapshot, &next, 500_001), [1 + 3, 0, 0]);
}

/// A person's request has no policy, and goes by the default; nothing of it is remembered for longer than that.
#[test]
fn what_a_request_drains_counts_for_the_default_window() {
    let mut snapshot = at_power();
    let of = PodSource { policy: String::new(), node: "n0".into() };
    let pod = PodRef::default();
    snapshot.evicted.insert(of.clone(), [(pod, at(1000))].into());
    for (second, evicted) in [(1599, 1), (1600, 0)] {
        let memory = run(&snapshot, Memory::default(), second).memory;
        assert_eq!(memory.counted_pods(&snapshot, now(second))[&of].evicted, evicted, "{second}");
        forget_evicted(&mut snapshot, at(second));
        assert_eq!(snapshot.evicted.len(), evicted, "{second}");
    }
}

/// One that is gone may come back with any rate, one that cannot be read with any window.
#[test]
fn what_was_evicted_is_forgotten_when_no_window_can_count_it() {
    for (policy, unreadable, last) in [("p", false, 599), ("gone", false, 3599), ("broken", true, 24 * 3600 - 1)] {
        let mut snapshot = at_power();
        if unreadable {
            snapshot.unreadable_policies.insert(policy.into(), "line 3".into());
        }
        let of = PodSource { policy: policy.into(), node: "n0".into() };
        snapshot.evicted.insert(of, [(PodRef::default(), at(1000))].into());
        for (second, is_there) in [(last, true), (last + 1, false)] {
            forget_evicted(&mut snapshot, at(1000 + second));
            assert_eq!(!snapshot.evicted.is_empty(), is_there, "{policy} {second}");
        }
    }
}

/// Guards of thousands of nodes ask in each pass: they have a sum, which each act of the pass changes.
#[test]
fn the_sum_of_a_pass_is_what_its_parts_are() {
    let mut snapshot = snapshot_of(4, vec![Policy { pods: rate(), ..policy("p", vec![cordon(), power_cycle()]) }]);
    let first = run(&snapshot, Memory::default(), 1000);
    store(&mut snapshot, &first, 1000);
    let mut memory = first.memory;
    memory.history.charge_pods("p", "n3", 1, at(900));
    evict(&mut snapshot, "x", 950);
    snapshot.evicted.insert(PodSource { node: "n3".into(), ..source() }, [(PodRef::default(), at(990))].into());
    memory.history.learn(&snapshot, now(1001));
    let parts = |memory: &Memory, except: &str| {
        let counted = memory.counted_pods(&snapshot, now(1001));
        let others = counted.iter().filter(|(of, _)| of.policy == "p" && of.node != except);
        others.map(|(_, counted)| counted.sum()).sum::<usize>()
    };
    let check = |memory: &Memory, expected: usize| {
        for node in ["n0", "n1", "n2", "n3"] {
            assert_eq!(memory.history.pods("p", rate(), node, at(1001)), parts(memory, node), "{node}");
        }
        assert_eq!(parts(memory, ""), expected);
    };
    check(&memory, 3);
    memory.history.charge_release(&snapshot.fences["n1"], None, 2, Duration::from_secs(600), at(1001));
    check(&memory, 5);
    memory.history.begin_drain(&snapshot.fences["n0"], &rules(), Some(&pods(["x", "y"])), 9, now(1001));
    check(&memory, 6);
}
