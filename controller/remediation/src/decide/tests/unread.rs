//! What could not be read between two decisions is not forgotten, and not counted as nothing.

use super::*;

const DAY: u64 = 24 * 3600;

/// An error in a policy, mended a second later, gives it no new rate.
#[test]
fn a_policy_that_cannot_be_read_for_a_moment_remembers_whom_it_took() {
    let mut policy = policy("p", vec![cordon()]);
    policy.cordon_budget.rate = Some(Rate { count: 1, window: Duration::from_secs(7 * DAY) });
    let mut snapshot = snapshot_of(1, vec![policy.clone()]);
    let first = run(&snapshot, Memory::default(), 1000);
    assert_eq!(opened(&first), ["n0"]);

    snapshot.nodes.insert("n0".into(), node("n0"));
    kill(snapshot.nodes.get_mut("n1").unwrap());
    snapshot.policies.clear();
    snapshot.unreadable_policies.insert("p".into(), "spec.when: a typo".into());
    let unread = run(&snapshot, first.memory, 1000 + 2 * DAY);

    snapshot.unreadable_policies.clear();
    snapshot.policies.push(policy);
    let mended = run(&snapshot, unread.memory, 1001 + 2 * DAY);
    assert_eq!(reasons(&mended, "n1"), ["Rate"]);
}

/// Evicts, whatever the guards say.
fn drains(input: &FenceInput<'_>) -> Next {
    let op = Op::Reversible(ReversibleOp::Drain(rules()));
    Next::Act(Action::Perform { fence: Box::new(input.fence.clone()), op })
}

/// Guards let no such drain begin; were one to begin, no other node's pods go after it.
#[test]
fn uncounted_pods_use_up_the_rate() {
    let mut policy = policy("p", vec![cordon()]);
    policy.pods = Rate { count: 5, window: Duration::from_secs(600) };
    let rate = policy.pods;
    let mut snapshot = snapshot_of(1, vec![policy]);
    let first = run(&snapshot, Memory::default(), 1000);
    store(&mut snapshot, &first, 1000);
    snapshot.gathered.clear();
    let second = decide_by(drains, &snapshot, first.memory, now(1001));
    assert_eq!(second.memory.history.pods("p", rate, "n1", at(1001)), 5);
}

/// As a new leader takes over a release that another one intended, before it has listed any pod.
fn doubts_a_release_of<const PODS: u32>(input: &FenceInput<'_>) -> Next {
    let mut fence = input.fence.clone();
    let at = input.now.wall;
    fence.status.intent = Some(Intent { op: IntendedOp::Release, epoch: 1, at, pods: PODS });
    Next::Act(Action::Save { fence: Box::new(fence), why: EventDraft::default() })
}

/// Or every leader that is killed in a release would stop all others of its policy for the window.
#[test]
fn a_release_that_was_counted_uses_up_no_more_than_its_pods() {
    type Doubts = fn(&FenceInput<'_>) -> Next;
    for (doubts, moved) in [(doubts_a_release_of::<3> as Doubts, 3), (doubts_a_release_of::<0>, 5)] {
        let mut policy = policy("p", vec![cordon()]);
        policy.pods = Rate { count: 5, window: Duration::from_secs(600) };
        let rate = policy.pods;
        let mut snapshot = snapshot_of(1, vec![policy]);
        let first = run(&snapshot, Memory::default(), 1000);
        store(&mut snapshot, &first, 1000);
        snapshot.gathered.clear();
        let second = decide_by(doubts, &snapshot, first.memory, now(1001));
        assert_eq!(second.memory.history.pods("p", rate, "n1", at(1001)), moved);
    }
}
