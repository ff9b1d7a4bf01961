//! The whole decision, with a state machine that takes every step it is allowed to.

mod asked_again;
mod blocked_events;
mod by_hand;
mod causes;
mod drains;
mod drains_begin;
mod events;
mod examples;
mod goes_on;
mod grace_period;
mod heirs;
mod laws;
mod opens;
mod orphans;
mod own_host;
mod precedence;
mod reboots;
mod reconstruct;
mod records;
mod skipped;
mod storms;
mod supersedes;
mod unread;

use std::time::Duration;

use super::*;
use crate::{
    action::{EventDraft, IrreversibleOp, Op, ReversibleOp},
    api::{
        fence::{IntendedOp, Intent, NodeFence, Phase},
        policy::{CordonStep, Mode, PowerStep, StepSpec},
    },
    drain::DrainRules,
    facts::{ConditionStatus, Node},
    fence::PredicateState,
    guard::stage::{DisruptionLevel, disruption_level},
    policy::{CountOrPercent, Policy, Rate, Storm},
    predicate::{Judge, Predicate, cel},
    snapshot::Absence,
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
        (CountOrPercent::Percent(100), CountOrPercent::Percent(100), None, None);
    let rate = Rate { count: 100_000, window: Duration::from_secs(60) };
    Policy {
        name: name.into(),
        when: Predicate::Cel(cel::Expression::compile("!node.ready").unwrap()),
        held_for: Duration::ZERO,
        steps,
        mode: Mode::Enforce,
        cordon_budget: budget.clone(),
        budget,
        storm: Storm { unhealthy: CountOrPercent::Percent(100), rate, ..default.storm.clone() },
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
    fence.status.intent = Some(Intent { op: IntendedOp::PowerOff, epoch: input.epoch, at: input.now.wall, pods: 0 });
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

#[derive(Debug)]
struct Fails;

impl Judge for Fails {
    fn judge(&self, node: &Node, _: &Snapshot, _: Now) -> Result<bool, String> {
        if node.name == "n0" { Err("no such key".into()) } else { Ok(!node.is_ready()) }
    }
}
