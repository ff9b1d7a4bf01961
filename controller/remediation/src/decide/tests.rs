//! The whole decision, with an automaton that takes every step it is allowed to.

mod blocked_events;
mod events;
mod laws;
mod orphans;
mod reconstruct;
mod unread;

use std::{sync::Arc, time::Duration};

use super::*;
use crate::{
    action::{EventDraft, IrreversibleOp, Op, ReversibleOp},
    api::{
        fence::{Intent, Irreversible, NodeFence, Phase},
        policy::{CordonStep, Mode, PowerStep, RemediationPolicy, StepSpec},
    },
    drain::DrainRules,
    facts::{ConditionStatus, Node},
    fence::PredicateState,
    guard::stage::{DisruptionLevel, disruption_level},
    policy::{Policy, Quota, Rate, Storm},
    predicate::{Judge, Predicate, cel},
    testing::{at, node, now, set_condition, wall},
};

fn kill(node: &mut Node) {
    set_condition(node, "Ready", ConditionStatus::Unknown, "NodeStatusUnknown", at(900));
    node.resource_version.push('x');
}

fn cordon() -> StepSpec {
    StepSpec { cordon: Some(CordonStep {}), ..StepSpec::default() }
}

fn power_cycle() -> StepSpec {
    StepSpec { power_cycle: Some(PowerStep::default()), ..StepSpec::default() }
}

/// Enforces at once for nodes that are not Ready, with wide limits.
fn policy(name: &str, steps: Vec<StepSpec>) -> Policy {
    let default = Policy::default();
    let mut budget = default.budget.clone();
    (budget.cluster, budget.zone, budget.max_concurrent, budget.rate) =
        (Quota::Percent(100), Quota::Percent(100), None, None);
    let rate = Rate { count: 100_000, window: Duration::from_secs(60) };
    Policy {
        name: name.into(),
        when: Predicate::Cel(cel::Expression::compile("!node.ready").unwrap()),
        held_for: Duration::ZERO,
        steps,
        mode: Mode::Enforce,
        cordon_budget: budget.clone(),
        budget,
        storm: Storm { unhealthy: Quota::Percent(100), rate, ..default.storm.clone() },
        ..default
    }
}

/// Ten nodes of which the first `dead` are dead, and these policies.
fn snapshot_of(dead: usize, policies: Vec<Policy>) -> Snapshot {
    let mut snapshot = Snapshot { epoch: 1, policies, ..Snapshot::default() };
    snapshot.host.synced = true;
    for name in (0..10).map(|number| format!("n{number}")) {
        snapshot.nodes.insert(name.clone(), node(&name));
    }
    snapshot.nodes.values_mut().take(dead).for_each(kill);
    snapshot
}

/// Takes the step if the guards allow it.
fn greedy(input: &FenceInput<'_>) -> Next {
    let Some(step) = input.fence.spec.steps.get(input.fence.status.policy_step) else {
        return Next::Wait { until: None, blockers: Vec::new() };
    };
    let (blockers, op) = match disruption_level(step) {
        DisruptionLevel::Isolate => (&input.guard_blockers.isolate, Op::Reversible(ReversibleOp::Cordon)),
        DisruptionLevel::Drain => (&input.guard_blockers.drain, Op::Reversible(ReversibleOp::Drain(rules()))),
        DisruptionLevel::Power => (&input.guard_blockers.power, Op::Irreversible(IrreversibleOp::PowerOff)),
    };
    if !blockers.is_empty() || input.predicate != PredicateState::Yes {
        return Next::Wait { until: None, blockers: blockers.clone() };
    }
    let mut fence = Box::new(input.fence.clone());
    if matches!(op, Op::Reversible(_)) {
        return Next::Act(Action::Perform { fence, op });
    }
    fence.status.phase = Phase::PoweringOff;
    fence.status.intent = Some(Intent { act: Irreversible::PowerOff, epoch: input.epoch, at: input.now.wall, pods: 0 });
    Next::Act(Action::Save { fence, why: EventDraft { reason: "Intent".into(), ..EventDraft::default() } })
}

fn rules() -> DrainRules {
    DrainRules {
        timeout: Duration::from_secs(60),
        grace: None,
        ignore_daemon_sets: true,
        delete_empty_dir_data: false,
        force: false,
        disable_eviction: false,
        force_on_timeout: false,
        skip_deleting_for: None,
        pod_selector: None,
        retry: Duration::from_secs(5),
    }
}

fn run(snapshot: &Snapshot, memory: Memory, second: u64) -> Decision {
    decide_by(greedy, snapshot, memory, now(second))
}

fn opened(decision: &Decision) -> Vec<&str> {
    decision.actions.iter().filter(|action| matches!(action, Action::Open(_))).map(Action::node).collect()
}

fn reasons<'d>(decision: &'d Decision, name: &str) -> Vec<&'d str> {
    let node_report = decision.node_reports.iter().find(|node_report| node_report.node == name).unwrap();
    node_report.blockers.iter().map(|blocker| blocker.reason.as_str()).collect()
}

/// The records that a decision opened, as the API would have them.
fn store(snapshot: &mut Snapshot, decision: &Decision, second: i64) {
    for action in &decision.actions {
        if let Action::Open(fence) = action {
            let mut fence: NodeFence = (**fence).clone();
            fence.metadata.uid = format!("fence-{}", fence.metadata.name);
            fence.metadata.creation_timestamp = Some(wall(second));
            let gathered = snapshot.gathered.entry(fence.metadata.name.clone()).or_default();
            gathered.pods = Some((at(second.unsigned_abs()), Vec::new()));
            snapshot.fences.insert(fence.metadata.name.clone(), fence);
        }
    }
}

#[test]
fn a_dead_node_gets_a_record_that_says_why() {
    let snapshot = snapshot_of(1, vec![policy("p", vec![cordon(), power_cycle()])]);
    let decision = run(&snapshot, Memory::default(), 1000);
    let [Action::Open(fence)] = &decision.actions[..] else { panic!("{:?}", decision.actions) };
    assert_eq!((fence.spec.node_name.as_str(), fence.spec.node_uid.as_str()), ("n0", "uid-n0"));
    assert_eq!((fence.spec.policy.as_str(), fence.spec.steps.len()), ("p", 2));
    assert_eq!(
        fence.spec.cause,
        "spec.when true for 0s; Ready=Unknown (NodeStatusUnknown) for 1m40s, no kubelet Lease"
    );
    assert_eq!(decision.node_reports.len(), 10, "one for every node");
    assert_eq!(decision.node_reports[0].next.as_deref(), Some("cordon"));
    assert_eq!(decision.node_reports[1], NodeReport { node: "n1".into(), ..NodeReport::default() });
}

#[test]
fn nothing_is_opened_where_nothing_may_be_done() {
    type Change = fn(&mut Snapshot);
    let cases: [(&str, Change); 6] = [
        ("Observe", |snapshot| snapshot.policies[0].mode = Mode::Observe),
        ("Paused", |snapshot| snapshot.policies[0].mode = Mode::Paused),
        ("NotLeading", |snapshot| snapshot.epoch = 0),
        ("DryRun", |snapshot| snapshot.dry_run = true),
        ("CacheNotSynced", |snapshot| snapshot.host.synced = false),
        ("KillSwitch", |snapshot| snapshot.stopped = Some("a file".into())),
    ];
    for (reason, change) in cases {
        let mut snapshot = snapshot_of(1, vec![policy("p", vec![cordon()])]);
        change(&mut snapshot);
        let decision = run(&snapshot, Memory::default(), 1000);
        assert_eq!(decision.actions, [], "{reason}");
        assert_eq!(reasons(&decision, "n0"), [reason]);
    }
}

#[test]
fn a_dry_run_says_what_a_run_would_do() {
    let mut policy = policy("p", vec![cordon()]);
    policy.cordon_budget.max_concurrent = Some(1);
    let mut snapshot = snapshot_of(2, vec![policy]);
    snapshot.dry_run = true;
    for second in 1000..1003 {
        let decision = run(&snapshot, Memory::default(), second);
        assert_eq!(decision.actions, []);
        assert_eq!(reasons(&decision, "n0"), ["DryRun"]);
        assert_eq!(reasons(&decision, "n1"), ["DryRun", "MaxConcurrent"], "the first would have the slot");
    }
}

#[test]
fn evidence_has_to_hold_without_a_break() {
    let mut snapshot =
        snapshot_of(1, vec![Policy { held_for: Duration::from_secs(60), ..policy("p", vec![cordon()]) }]);
    let first = run(&snapshot, Memory::default(), 1000);
    assert_eq!(reasons(&first, "n0"), ["WithinGracePeriod"]);
    assert_eq!(first.requeue_at, Some(at(1001)));
    let later = run(&snapshot, first.memory.clone(), 1059);
    assert_eq!(reasons(&later, "n0"), ["WithinGracePeriod"]);
    assert_eq!(opened(&run(&snapshot, later.memory.clone(), 1060)), ["n0"]);

    let dead = snapshot.nodes["n0"].clone();
    let mut back = node("n0");
    back.resource_version = "5".into();
    snapshot.nodes.insert("n0".into(), back);
    let well = run(&snapshot, later.memory, 1059);
    snapshot.nodes.insert("n0".into(), dead);
    assert_eq!(reasons(&run(&snapshot, well.memory, 1060), "n0"), ["WithinGracePeriod"], "the break counts");
}

#[test]
fn another_predicate_or_another_node_begins_again() {
    let mut snapshot =
        snapshot_of(1, vec![Policy { held_for: Duration::from_secs(60), ..policy("p", vec![cordon()]) }]);
    let first = run(&snapshot, Memory::default(), 1000);
    let mut edited = snapshot.clone();
    edited.policies[0].when = Predicate::Cel(cel::Expression::compile("!(node.ready)").unwrap());
    assert_eq!(reasons(&run(&edited, first.memory.clone(), 1060), "n0"), ["WithinGracePeriod"]);
    snapshot.nodes.get_mut("n0").unwrap().uid = "another".into();
    assert_eq!(reasons(&run(&snapshot, first.memory, 1060), "n0"), ["WithinGracePeriod"]);
}

#[test]
fn the_first_policy_by_name_has_the_say() {
    let first = Policy { mode: Mode::Observe, ..policy("a", vec![cordon()]) };
    let snapshot = snapshot_of(1, vec![first, policy("b", vec![cordon()])]);
    let decision = run(&snapshot, Memory::default(), 1000);
    assert_eq!(decision.actions, []);
    let node_report = &decision.node_reports[0];
    assert_eq!((node_report.policy.as_deref(), &node_report.also[..]), (Some("a"), &["b".to_owned()][..]));
}

#[derive(Debug)]
struct Fails;

impl Judge for Fails {
    fn judge(&self, node: &Node, _: &Snapshot, _: Now) -> Result<bool, String> {
        if node.name == "n0" { Err("no such key".into()) } else { Ok(!node.is_ready()) }
    }
}

#[test]
fn an_error_blocks_its_node_and_no_other() {
    let broken = Policy { when: Predicate::Other(Arc::new(Fails)), ..policy("a", vec![cordon()]) };
    let snapshot = snapshot_of(2, vec![broken, policy("b", vec![cordon()])]);
    let decision = run(&snapshot, Memory::default(), 1000);
    assert_eq!(opened(&decision), ["n1"]);
    assert_eq!(reasons(&decision, "n0"), ["PredicateError"]);
    assert_eq!(decision.node_reports[0].errors, [("a".to_owned(), "no such key".to_owned())]);
}

#[test]
fn a_storm_opens_nothing_and_goes_on_with_nothing_new() {
    let storm = Storm { unhealthy: Quota::Percent(30), ..policy("p", vec![]).storm };
    let mut snapshot = snapshot_of(2, vec![Policy { storm, ..policy("p", vec![cordon(), power_cycle()]) }]);
    let first = run(&snapshot, Memory::default(), 1000);
    assert_eq!(opened(&first), ["n0", "n1"]);
    store(&mut snapshot, &first, 1000);
    snapshot.fences.values_mut().for_each(|fence| (fence.status.phase, fence.status.policy_step) = (Phase::Waiting, 1));
    snapshot.nodes.values_mut().skip(2).take(4).for_each(kill);
    let second = run(&snapshot, first.memory, 1010);
    assert_eq!(second.actions, []);
    for name in ["n0", "n1", "n2", "n5"] {
        assert_eq!(reasons(&second, name), ["Storm"], "{name}");
    }
}

#[test]
fn a_mistake_in_a_policy_ends_no_storm_and_no_cooldown() {
    let storm = Storm { unhealthy: Quota::Percent(10), ..policy("p", vec![]).storm };
    let whole = snapshot_of(1, vec![Policy { storm, ..policy("p", vec![cordon()]) }]);
    let stormy = snapshot_of(2, whole.policies.clone());
    let spoilt = |snapshot: &Snapshot| Snapshot {
        policies: Vec::new(),
        unreadable_policies: [("p".to_owned(), "spec.when: Syntax error".to_owned())].into(),
        ..snapshot.clone()
    };
    let gone = |snapshot: &Snapshot| Snapshot { policies: Vec::new(), ..snapshot.clone() };
    type Spoil<'a> = &'a dyn Fn(&Snapshot) -> Snapshot;
    for spoil in [&spoilt as Spoil<'_>, &gone] {
        // It was there before a storm that came and went without it.
        let before = run(&snapshot_of(0, whole.policies.clone()), Memory::default(), 1000);
        let during = run(&spoil(&stormy), before.memory, 1010);
        let after = run(&spoil(&whole), during.memory, 1020);
        let mended = run(&whole, after.memory, 1030);
        assert_eq!((opened(&mended), reasons(&mended, "n0")), (vec![], vec!["StormCooldown"]));
        // It was there in a storm, and away for a moment of its cooldown.
        let before = run(&stormy, Memory::default(), 2000);
        let away = run(&spoil(&whole), before.memory, 2010);
        let mended = run(&whole, away.memory, 2599);
        assert_eq!((opened(&mended), reasons(&mended, "n0")), (vec![], vec!["StormCooldown"]));
        assert_eq!(opened(&run(&whole, mended.memory, 2600)), ["n0"], "calm for as long as it has to be");
    }
}

#[test]
fn storms_of_a_policy_that_stays_away_are_forgotten() {
    let whole = snapshot_of(1, vec![policy("p", vec![cordon()])]);
    let gone = Snapshot { policies: Vec::new(), ..whole.clone() };
    let unreadable = [("p".to_owned(), "spec.when: Syntax error".to_owned())].into();
    let spoilt = Snapshot { unreadable_policies: unreadable, ..gone.clone() };
    let day = 24 * 3600;
    for (there, days) in [(&gone, false), (&spoilt, true)] {
        let memory = run(&whole, Memory::default(), 1000).memory;
        let memory = run(there, run(there, memory, 1001).memory, 1000 + day).memory;
        assert!(memory.storms.contains_key("p"));
        assert_eq!(run(there, memory, 1001 + day).memory.storms.contains_key("p"), days);
    }
}

#[test]
fn one_hundred_and_fifty_cordons_need_one_pass() {
    let mut policy = policy("p", vec![cordon()]);
    (policy.cordon_budget.cluster, policy.cordon_budget.zone) = (Quota::Percent(10), Quota::Percent(100));
    let mut snapshot = snapshot_of(0, vec![policy]);
    snapshot.nodes = (0..1500).map(|number| format!("n{number:04}")).map(|name| (name.clone(), node(&name))).collect();
    snapshot.nodes.values_mut().take(150).for_each(kill);
    assert_eq!(opened(&run(&snapshot, Memory::default(), 1000)).len(), 150);
    snapshot.nodes.values_mut().take(151).for_each(kill);
    assert_eq!(opened(&run(&snapshot, Memory::default(), 1000)).len(), 0, "one too many and no node is touched");
}

#[test]
fn a_record_goes_on_by_its_policy_and_no_other() {
    let mut snapshot = snapshot_of(1, vec![policy("p", vec![cordon(), power_cycle()])]);
    let first = run(&snapshot, Memory::default(), 1000);
    store(&mut snapshot, &first, 1000);
    let go_on = |snapshot: &Snapshot| run(snapshot, first.memory.clone(), 1010);
    assert!(matches!(
        &go_on(&snapshot).actions[..],
        [Action::Perform { op: Op::Reversible(ReversibleOp::Cordon), .. }]
    ));
    snapshot.fences.get_mut("n0").unwrap().status.policy_step = 1;
    assert!(matches!(&go_on(&snapshot).actions[..], [Action::Save { .. }]));

    let mut broken = snapshot.clone();
    broken.policies.clear();
    broken.unreadable_policies.insert("p".into(), "line 3".into());
    let blocked = go_on(&broken);
    assert_eq!((blocked.actions.len(), reasons(&blocked, "n0")), (0, vec!["PolicyUnreadable"]));
    broken.unreadable_policies.clear();
    assert_eq!(reasons(&go_on(&broken), "n0"), ["PolicyUnreadable"], "a policy that is gone cannot be asked either");

    let mut by_hand = broken;
    by_hand.fences.get_mut("n0").unwrap().spec.policy = String::new();
    assert_eq!(go_on(&by_hand).actions.len(), 1, "a person's record needs none");
}

#[test]
fn nothing_is_given_out_for_a_busy_or_skipped_node() {
    let mut snapshot = snapshot_of(1, vec![policy("p", vec![cordon()])]);
    let first = run(&snapshot, Memory::default(), 1000);
    store(&mut snapshot, &first, 1000);
    let mut busy = snapshot.clone();
    busy.busy.insert("n0".into());
    let decision = run(&busy, first.memory.clone(), 1001);
    assert_eq!((decision.actions.len(), reasons(&decision, "n0")), (0, vec!["Busy"]));
    busy.fences.clear();
    assert_eq!(run(&busy, first.memory.clone(), 1001).actions, [], "its record is being made");
    snapshot.nodes.get_mut("n0").unwrap().annotations.insert(crate::api::SKIP_REMEDIATION.into(), "mine".into());
    let decision = run(&snapshot, first.memory, 1001);
    assert_eq!((decision.actions.len(), reasons(&decision, "n0")), (0, vec!["RemediationSkipped"]));
}

#[test]
fn what_is_needed_of_a_node_is_asked_for() {
    let mut snapshot = snapshot_of(1, vec![policy("p", vec![cordon(), power_cycle()])]);
    let first = run(&snapshot, Memory::default(), 1000);
    assert!(first.gather.is_empty(), "nothing before a record is open");
    store(&mut snapshot, &first, 1000);
    let request = run(&snapshot, first.memory.clone(), 1001).gather["n0"];
    assert_eq!(
        request,
        GatherRequest {
            pods: true,
            attachments: true,
            methods: true,
            power: Some(Duration::from_secs(2)),
            reach: false
        }
    );
    snapshot.fences.get_mut("n0").unwrap().spec.steps.pop();
    assert_eq!(run(&snapshot, first.memory, 1001).gather["n0"], GatherRequest::default(), "a cordon needs nothing");
}

#[test]
fn a_phase_is_entered_when_it_is_first_seen() {
    fn wait(input: &FenceInput<'_>) -> Next {
        Next::Wait { until: Some(input.entered.plus(Duration::from_secs(60))), blockers: Vec::new() }
    }
    let mut snapshot = snapshot_of(1, vec![policy("p", vec![cordon()])]);
    let first = run(&snapshot, Memory::default(), 1000);
    store(&mut snapshot, &first, 1000);
    let wake = |snapshot: &Snapshot, memory: Memory, second| decide_by(wait, snapshot, memory, now(second));
    let second = wake(&snapshot, first.memory, 1010);
    assert_eq!(second.requeue_at, Some(at(1070)));
    let third = wake(&snapshot, second.memory, 1020);
    assert_eq!(third.requeue_at, Some(at(1070)), "it goes on counting");
    snapshot.fences.get_mut("n0").unwrap().status.phase = Phase::Waiting;
    assert_eq!(wake(&snapshot, third.memory, 1030).requeue_at, Some(at(1090)));
}

#[test]
fn a_well_cluster_sleeps() {
    assert_eq!(run(&snapshot_of(0, vec![policy("p", vec![cordon()])]), Memory::default(), 1000).requeue_at, None);
}

#[test]
fn the_shipped_policy_for_dead_nodes_waits_for_the_lease_only() {
    let text = include_str!("../../../../docs/examples/policies/dead-nodes.yaml");
    let mut shipped: RemediationPolicy = serde_saphyr::from_str(text).unwrap();
    shipped.spec.mode = Mode::Enforce;
    let mut snapshot = snapshot_of(0, vec![Policy::compile(&shipped).unwrap()]);
    snapshot.nodes = (0..100).map(|number| format!("n{number:03}")).map(|name| (name.clone(), node(&name))).collect();
    let lease = |second| crate::facts::LeaseView {
        resource_version: String::new(),
        holder: String::new(),
        renewed: None,
        duration: Duration::from_secs(40),
        seen: at(second),
    };
    snapshot.kubelet_leases = snapshot.nodes.keys().map(|name| (name.clone(), lease(1000))).collect();
    snapshot.kubelet_leases.insert("n007".into(), lease(990));
    let first = run(&snapshot, Memory::default(), 1005);
    assert_eq!(first.actions, []);
    assert_eq!(opened(&run(&snapshot, first.memory, 1006)), ["n007"]);
}
