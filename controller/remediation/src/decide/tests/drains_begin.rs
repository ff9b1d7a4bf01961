//! Nodes that are cordoned and wait for their drain take each other no slot, and are drained one after the other.

use super::*;
use crate::{
    action::Done,
    api::{
        fence::{DrainReport, NodeFenceStatus},
        policy::DrainStep,
    },
    facts::Pod,
    fence,
    guard::reason::{MAX_CONCURRENT, RATE, STORM},
};

/// Three nodes that are cordoned by records in Draining; one may be drained at a time.
fn cordoned() -> Snapshot {
    let drain = StepSpec { drain: Some(DrainStep::default()), ..StepSpec::default() };
    let mut policy = policy("p", vec![cordon(), drain]);
    policy.budget.max_concurrent = Some(1);
    let mut snapshot = snapshot_of(3, vec![policy]);
    let opened = run(&snapshot, Memory::default(), 1000);
    store(&mut snapshot, &opened, 1000);
    for (name, fence) in &mut snapshot.fences {
        let status = &mut fence.status;
        (status.phase, status.policy_step, status.own_changes.cordon) = (Phase::Draining, 1, true);
        snapshot.nodes.get_mut(name).unwrap().unschedulable = true;
        snapshot.gathered.get_mut(name).unwrap().pods = Some((at(1000), vec![Pod::default()]));
    }
    snapshot
}

fn decided(snapshot: &Snapshot, memory: Memory, second: u64) -> Decision {
    decide_by(fence::next, snapshot, memory, now(second))
}

/// The records that a decision writes with a drain begun; they are stored.
fn begun(snapshot: &mut Snapshot, decision: &Decision) -> Vec<String> {
    let mut begun = Vec::new();
    for action in &decision.actions {
        let Action::Save { fence, .. } = action else { continue };
        let name = fence.spec.node_name.clone();
        begun.extend(fence.status.drain_begun_at.map(|_| name.clone()));
        snapshot.fences.insert(name, (**fence).clone());
    }
    begun
}

fn drained(decision: &Decision) -> Vec<&str> {
    let is_drain =
        |action: &&Action| matches!(action, Action::Perform { op: Op::Reversible(ReversibleOp::Drain(_)), .. });
    decision.actions.iter().filter(is_drain).map(Action::node).collect()
}

#[test]
fn of_nodes_that_wait_for_their_drain_one_begins_and_the_others_say_why() {
    let mut snapshot = cordoned();
    let mut decision = decided(&snapshot, Memory::default(), 1001);
    assert_eq!(begun(&mut snapshot, &decision), ["n0"]);
    assert_eq!(drained(&decision), [""; 0], "it is stored before the first pod is evicted");
    decision = decided(&snapshot, decision.memory, 1002);
    assert_eq!(drained(&decision), ["n0"]);
    for name in ["n1", "n2"] {
        let status = &snapshot.fences[name].status;
        assert!(status.is_blocked_by(MAX_CONCURRENT), "{name}: {:?}", status.blocked_by);
    }
    // It is over, and the node is back.
    snapshot.fences.remove("n0");
    snapshot.nodes.insert("n0".into(), node("n0"));
    decision = decided(&snapshot, decision.memory, 1003);
    assert_eq!(begun(&mut snapshot, &decision), ["n1"]);
}

#[test]
fn a_drain_that_was_not_begun_waits_for_the_rate_and_for_the_end_of_a_storm() {
    let mut snapshot = cordoned();
    snapshot.policies[0].budget.max_concurrent = None;
    snapshot.policies[0].budget.rate = Some(Rate { count: 1, window: Duration::from_secs(600) });
    let mut decision = decided(&snapshot, Memory::default(), 1001);
    assert_eq!(begun(&mut snapshot, &decision), ["n0"]);
    decision = decided(&snapshot, decision.memory, 1002);
    assert!(snapshot.fences["n1"].status.is_blocked_by(RATE));
    snapshot.policies[0].budget.rate = None;
    snapshot.policies[0].storm.unhealthy = CountOrPercent::Count(2);
    decision = decided(&snapshot, decision.memory, 1003);
    assert_eq!(drained(&decision), ["n0"], "that which has begun goes on");
    begun(&mut snapshot, &decision);
    assert!(snapshot.fences["n1"].status.is_blocked_by(STORM));
    assert!(!snapshot.fences["n2"].status.is_blocked_by(RATE));
}

/// The alert for nodes that are blocked waits for an hour of one reason without a break.
#[test]
fn a_node_is_reported_undrained_in_every_phase_of_a_further_round() {
    let left = DrainReport { done: false, refused_evictions: vec!["shop/a: a budget".into()], left: 0 };
    let is_reported = |phase: Phase, busy: bool, change: &dyn Fn(&mut NodeFenceStatus)| {
        let mut snapshot = cordoned();
        let status = &mut snapshot.fences.get_mut("n0").unwrap().status;
        (status.phase, status.drain_rounds) = (phase, 1);
        change(status);
        if busy {
            snapshot.busy.insert("n0".into());
        }
        let decision = decided(&snapshot, Memory::default(), 1001);
        reasons(&decision, "n0").iter().filter(|reason| **reason == "DrainIncomplete").count()
    };
    for phase in [Phase::Pending, Phase::Isolating, Phase::Draining, Phase::Waiting, Phase::AwaitGuards] {
        for busy in [false, true] {
            assert_eq!(is_reported(phase, busy, &|_| {}), 1, "{phase:?} {busy}");
        }
        assert_eq!(is_reported(phase, false, &|status| status.drain_rounds = 0), 0, "{phase:?}");
    }
    let report = |done| Some(DrainReport { done, ..left.clone() });
    assert_eq!(is_reported(Phase::Waiting, false, &|status| status.drain = report(false)), 1, "once");
    assert_eq!(is_reported(Phase::AwaitGuards, false, &|status| status.drain = report(true)), 0, "it got through");
    assert_eq!(is_reported(Phase::Recovering, false, &|_| {}), 0);
}

/// A budget never allows the pods of the first two to go. Whether or not they are cordoned first.
#[test]
fn nodes_that_cannot_be_drained_keep_no_other_from_it() {
    let drain = || StepSpec { drain: Some(DrainStep::default()), ..StepSpec::default() };
    for steps in [vec![cordon(), drain()], vec![drain()]] {
        let mut snapshot = cordoned();
        snapshot.policies[0].steps.clone_from(&steps);
        let step = steps.len() - 1;
        for fence in snapshot.fences.values_mut() {
            fence.spec.steps.clone_from(&steps);
            fence.status.policy_step = step;
        }
        let (mut memory, mut second) = (Memory::default(), 1001);
        let is_begun = |snapshot: &Snapshot| snapshot.fences["n2"].status.drain_begun_at.is_some();
        while !is_begun(&snapshot) && second < 1001 + 4 * 3600 {
            for (_, pods) in
                snapshot.gathered.values_mut().filter_map(|gathered| gathered.pods.as_mut().map(|pods| (0, pods)))
            {
                pods.0 = at(second);
            }
            let decision = decided(&snapshot, memory, second);
            begun(&mut snapshot, &decision);
            for name in drained(&decision) {
                let report = DrainReport { done: false, refused_evictions: vec!["shop/a: a budget".into()], left: 1 };
                let rules = fence::drain_at_hand(&snapshot.fences[name]).unwrap();
                let op = Op::from(ReversibleOp::Drain(rules));
                let (after, _) =
                    fence::apply_outcome(&snapshot.fences[name], &op, &Ok(Done::Drain(report)), 1, now(second));
                snapshot.fences.insert(name.to_owned(), after);
            }
            memory = decision.memory;
            second += 10;
        }
        assert!(is_begun(&snapshot), "{} steps: {:?}", steps.len(), snapshot.fences["n2"].status.blocked_by);
    }
}

/// Both fit by themselves, and not together: one begins, and the other's time does not run.
#[test]
fn pods_of_a_drain_that_begins_are_no_other_drains() {
    let mut snapshot = cordoned();
    snapshot.policies[0].budget.max_concurrent = None;
    snapshot.policies[0].pods = Rate { count: 250, window: Duration::from_secs(600) };
    for (name, gathered) in &mut snapshot.gathered {
        let pod = |n: usize| Pod {
            at: crate::facts::PodRef { namespace: "a".into(), name: format!("{name}-{n}"), uid: format!("{name}-{n}") },
            node: name.clone(),
            ..Pod::default()
        };
        gathered.pods = Some((at(1000), (0..200).map(pod).collect()));
    }
    let decision = decided(&snapshot, Memory::default(), 1001);
    assert_eq!(begun(&mut snapshot, &decision), ["n0"]);
    for name in ["n1", "n2"] {
        let status = &snapshot.fences[name].status;
        assert!(status.is_blocked_by(crate::guard::reason::POD_RATE), "{name}: {:?}", status.blocked_by);
    }
}

/// Each beginning is one, in whichever round.
#[test]
fn a_drain_that_is_begun_again_counts_for_the_rate_again() {
    let mut snapshot = cordoned();
    snapshot.fences.retain(|name, _| name == "n0");
    let first = decided(&snapshot, Memory::default(), 1001);
    assert_eq!(begun(&mut snapshot, &first), ["n0"]);
    let started = |memory: &Memory, second: u64| {
        let hour = Duration::from_secs(3600);
        memory.history.started_within("p", crate::guard::stage::DisruptionLevel::Drain, "", hour, at(second))
    };
    let later = decided(&snapshot, first.memory, 1002);
    assert_eq!(started(&later.memory, 1002), 1);
    let hours = 1001 + 2 * 3600;
    let status = &mut snapshot.fences.get_mut("n0").unwrap().status;
    (status.drain_begun_at, status.drain_rounds) = (None, 1);
    let again = decided(&snapshot, later.memory, hours);
    assert_eq!(begun(&mut snapshot, &again), ["n0"]);
    assert_eq!(started(&again.memory, hours + 1), 1);
}
