//! What holds for every snapshot.

use std::time::Instant;

use proptest::prelude::*;

use super::*;
use crate::{api::policy::DrainStep, facts::ZONE};

/// One node of a random cluster: whether it is well, its zone, what is under way.
#[derive(Debug, Clone)]
struct Fate {
    dead: bool,
    zone: u8,
    state: u8,
    step: usize,
}

fn random(fates: &[Fate], policy: Policy) -> Snapshot {
    let mut snapshot = snapshot_of(0, vec![policy]);
    snapshot.nodes.clear();
    for (number, Fate { dead, zone, state, step }) in fates.iter().enumerate() {
        let name = format!("n{number:03}");
        let mut node = node(&name);
        node.labels.insert(ZONE.into(), format!("z{zone}"));
        node.unschedulable = *state == 1;
        if *dead {
            kill(&mut node);
        }
        snapshot.nodes.insert(name.clone(), node);
        if *state == 2 {
            snapshot.busy.insert(name.clone());
        }
        if (3..11).contains(state) {
            let fence = record(&name, &snapshot.policies[0], *state, *step);
            snapshot.fences.insert(name, fence);
        }
    }
    snapshot
}

fn record(name: &str, policy: &Policy, state: u8, step: usize) -> NodeFence {
    let phases = [
        Phase::Pending,
        Phase::Waiting,
        Phase::AwaitGuards,
        Phase::PoweringOff,
        Phase::AwaitReady,
        Phase::Closed,
        Phase::Draining,
        Phase::Draining,
    ];
    let mut fence: NodeFence = serde_json::from_value(serde_json::json!({
        "metadata": {"name": name, "uid": format!("fence-{name}")},
        "spec": {"nodeName": name, "nodeUID": format!("uid-{name}"), "policy": policy.name},
    }))
    .unwrap();
    fence.spec.steps.clone_from(&policy.steps);
    (fence.status.phase, fence.status.policy_step) = (phases[usize::from(state) - 3], step);
    fence.status.drain_begun_at = (state == 10).then(|| wall(900));
    fence
}

#[derive(Debug)]
struct Limits {
    cluster: u32,
    zone: u32,
    max_concurrent: u32,
}

fn limited(limits: &Limits, steps: Vec<StepSpec>) -> Policy {
    let mut policy = policy("p", steps);
    let Limits { cluster, zone, max_concurrent } = *limits;
    policy.budget.cluster = CountOrPercent::Count(cluster);
    policy.budget.zone = CountOrPercent::Count(zone);
    policy.budget.max_concurrent = Some(max_concurrent);
    policy.cordon_budget.cluster = CountOrPercent::Count(cluster + 3);
    policy.cordon_budget.zone = CountOrPercent::Count(zone + 3);
    policy
}

fn out_of_service(snapshot: &Snapshot, name: &str) -> bool {
    let node = &snapshot.nodes[name];
    let fence = snapshot.fences.get(name);
    let begun = fence.is_some_and(|fence| crate::guard::stage::has_begun(fence, DisruptionLevel::Isolate));
    !node.is_ready() || node.unschedulable || begun || snapshot.busy.contains(name)
}

/// Nodes that are acted upon, and how disruptively.
fn acted(decision: &Decision) -> Vec<(&str, DisruptionLevel)> {
    let level = |action: &Action| match action {
        Action::Open(fence) if !crate::guard::stage::begins_disruptively(&fence.spec.steps) => DisruptionLevel::Isolate,
        Action::Perform { op: Op::Reversible(ReversibleOp::Cordon), .. } => DisruptionLevel::Isolate,
        Action::Perform { op: Op::Reversible(ReversibleOp::Drain(_)), .. } => DisruptionLevel::Drain,
        _ => DisruptionLevel::Power,
    };
    decision.actions.iter().map(|action| (action.node(), level(action))).collect()
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = (any::<bool>(), 0_u8..3, 0_u8..16, 0_usize..2).prop_map(|(dead, zone, state, step)| Fate {
        dead,
        zone,
        state,
        step,
    });
    proptest::collection::vec(fate, 1..40)
}

fn limits() -> impl Strategy<Value = Limits> {
    (0_u32..8, 0_u32..6, 0_u32..4).prop_map(|(cluster, zone, max_concurrent)| Limits { cluster, zone, max_concurrent })
}

fn step_lists() -> impl Strategy<Value = Vec<StepSpec>> {
    let drain = || StepSpec { drain: Some(DrainStep::default()), ..StepSpec::default() };
    let cordon_and_drain = vec![cordon(), drain()];
    prop_oneof![
        Just(vec![cordon(), power_cycle()]),
        Just(vec![power_cycle()]),
        Just(vec![cordon()]),
        Just(cordon_and_drain),
        Just(vec![drain()]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_budget_is_exceeded_within_one_pass(fates in fates(), steps in step_lists(), limits in limits()) {
        let snapshot = random(&fates, limited(&limits, steps));
        let decision = run(&snapshot, Memory::default(), 1000);
        let acted = acted(&decision);
        let is_new = |name: &str, level: DisruptionLevel| {
            let is_under_way = |fence: &NodeFence| match level {
                DisruptionLevel::Drain => {
                    let is_power = crate::guard::stage::is_under_way(fence, DisruptionLevel::Power);
                    is_power || fence.status.drain_begun_at.is_some()
                }
                DisruptionLevel::Isolate | DisruptionLevel::Power => crate::guard::stage::is_under_way(fence, level),
            };
            !snapshot.fences.get(name).is_some_and(is_under_way)
        };
        let disrupts = |level: DisruptionLevel| level != DisruptionLevel::Isolate;
        let out: Vec<&str> = snapshot.nodes.keys().map(String::as_str)
            .filter(|name| out_of_service(&snapshot, name) || acted.iter().any(|(acted, _)| acted == name)).collect();
        for (name, level) in acted.iter().filter(|(name, level)| is_new(name, *level)) {
            let policy = &snapshot.policies[0];
            let budget = if disrupts(*level) { &policy.budget } else { &policy.cordon_budget };
            // Cordons of a looser budget may come after a disruptive act; they are not its doing.
            if disrupts(*level) && acted.iter().any(|(_, level)| !disrupts(*level)) {
                continue;
            }
            prop_assert!(out.len() <= budget.cluster.of(fates.len()), "{name}: {out:?}");
            let zone = snapshot.nodes[*name].zone();
            let there = out.iter().filter(|name| snapshot.nodes[**name].zone() == zone).count();
            prop_assert!(there <= budget.zone.of(fates.len()), "{name}: {out:?}");
        }
        let begun = snapshot.fences.values().filter(|fence| crate::guard::stage::has_begun(fence, DisruptionLevel::Power));
        let new = acted.iter().filter(|(name, level)| disrupts(*level) && is_new(name, *level)).count();
        if new > 0 {
            let most = snapshot.policies[0].budget.max_concurrent.unwrap() as usize;
            prop_assert!(begun.count() + new <= most.max(new) && new <= most);
        }
    }

    #[test]
    fn the_same_gives_the_same(fates in fates(), steps in step_lists(), limits in limits()) {
        let snapshot = random(&fates, limited(&limits, steps));
        let (mut one, mut two) = (run(&snapshot, Memory::default(), 1000), run(&snapshot.clone(), Memory::default(), 1000));
        for second in [1001, 1030, 1100] {
            prop_assert_eq!((&one.actions, &one.node_reports), (&two.actions, &two.node_reports));
            prop_assert_eq!((&one.gather, one.requeue_at), (&two.gather, two.requeue_at));
            (one, two) = (run(&snapshot, one.memory, second), run(&snapshot, two.memory, second));
        }
    }

    #[test]
    fn at_most_one_action_for_a_node_and_a_node_report_for_each(fates in fates(), steps in step_lists()) {
        let snapshot = random(&fates, policy("p", steps));
        let decision = run(&snapshot, Memory::default(), 1000);
        let mut nodes: Vec<_> = decision.actions.iter().map(Action::node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        prop_assert_eq!(nodes.len(), decision.actions.len());
        prop_assert!(nodes.iter().all(|name| !snapshot.busy.contains(*name)));
        let judged: Vec<_> = decision.node_reports.iter().map(|node_report| &node_report.node).collect();
        prop_assert_eq!(judged, snapshot.nodes.keys().collect::<Vec<_>>());
    }

    #[test]
    fn an_error_never_acts(fates in fates(), steps in step_lists()) {
        let mut broken = policy("p", steps);
        broken.when = Predicate::Cel(cel::Expression::compile("conditions.Nowhere.status == 'True'").unwrap());
        let snapshot = random(&fates, broken);
        prop_assert_eq!(run(&snapshot, Memory::default(), 1000).actions, []);
    }

    /// A record whose policy is gone or broken goes no further than one whose policy can be read.
    #[test]
    fn a_broken_policy_allows_no_more(fates in fates(), steps in step_lists(), gone in any::<bool>()) {
        let snapshot = random(&fates, policy("p", steps));
        let mut broken = snapshot.clone();
        broken.policies.clear();
        if !gone {
            broken.unreadable_policies.insert("p".into(), "line 3".into());
        }
        prop_assert_eq!(run(&broken, Memory::default(), 1000).actions, []);
    }
}

/// `cargo test --release -- --ignored --nocapture` prints it.
#[test]
#[ignore = "a measurement"]
#[allow(clippy::print_stdout)]
fn five_thousand_nodes_and_three_policies_take_milliseconds() {
    let sources = [
        "has(conditions.Ready) && conditions.Ready.status != 'True' || lease.present && lease.age > duration('15s')",
        "has(conditions.GpuUnhealthy) && conditions.GpuUnhealthy.status == 'True'",
        "has(conditions.KernelDeadlock) && conditions.KernelDeadlock.status == 'True' && conditions.KernelDeadlock.age > 600",
    ];
    let policies = sources.iter().enumerate().map(|(number, source)| {
        let when = Predicate::Cel(cel::Expression::compile(source).unwrap());
        Policy { when, ..policy(&format!("p{number}"), vec![cordon(), power_cycle()]) }
    });
    let mut snapshot = snapshot_of(0, policies.collect());
    for name in (0..5000).map(|number| format!("n{number:04}")) {
        let mut node = node(&name);
        (0..20).for_each(|number| drop(node.labels.insert(format!("label-{number}"), "value".into())));
        (0..15).for_each(|number| {
            set_condition(&mut node, &format!("Kind{number}"), ConditionStatus::False, "Fine", at(0))
        });
        node.labels.insert(ZONE.into(), format!("z{}", name.len() % 3));
        snapshot.nodes.insert(name, node);
    }
    snapshot.nodes.values_mut().take(20).for_each(kill);
    let mut memory = Memory::default();
    for second in 1000..1005 {
        let begun = Instant::now();
        let decision = run(&snapshot, memory, second);
        println!("{:?}: {} actions", begun.elapsed(), decision.actions.len());
        memory = decision.memory;
    }
}
