//! Which stage of a record has begun, and what still stops it.

use super::*;
use crate::{
    api::{
        fence::{Confirmation, DrainReport, IntendedOp, Intent},
        policy::{CordonStep, DrainStep, PowerStep, TaintStep},
    },
    guard::stage::{begins_disruptively, has_begun, is_under_way},
};

#[test]
fn an_act_that_has_begun_is_not_stopped_by_budgets_and_storms() {
    let mut fixture = Fixture::new();
    fixture.storms = vec![Blocker::new(reason::STORM, "")];
    fixture.policy.budget.cluster = CountOrPercent::Count(0);
    fixture.policy.mode = Mode::Paused;
    for phase in [Phase::PoweringOff, Phase::OffConfirmed, Phase::PodsReleased, Phase::PoweringOn, Phase::AwaitReady] {
        fixture.open(phase);
        assert_eq!(fixture.all_blockers(), GuardBlockers::default(), "{phase:?}");
    }
    for phase in [Phase::Pending, Phase::Isolating, Phase::Waiting, Phase::AwaitGuards, Phase::Failed] {
        fixture.open(phase);
        assert_eq!(reasons(&fixture.all_blockers().power), ["Storm", "BudgetCluster"], "{phase:?}");
    }
    fixture.open(Phase::OffConfirmed);
    fixture.snapshot.stopped = Some("a file".into());
    assert_eq!(reasons(&fixture.all_blockers().power), ["KillSwitch"]);
}

/// With not one pod evicted it waits as a power off does; one that was begun goes on.
#[test]
fn a_drain_that_was_not_begun_is_stopped_by_budgets_and_storms() {
    let mut fixture = Fixture::new();
    fixture.storms = vec![Blocker::new(reason::STORM, "")];
    fixture.policy.budget.cluster = CountOrPercent::Count(0);
    fixture.policy.budget.max_concurrent = Some(0);
    fixture.policy.budget.rate = Some(Rate { count: 0, window: Duration::from_secs(60) });
    fixture.policy.node_startup_grace_period = Duration::from_secs(100_000);
    fixture.open(Phase::Draining);
    assert_eq!(reasons(&fixture.all_blockers().drain), ["Storm", "NewNode", "BudgetCluster", "MaxConcurrent", "Rate"]);
    begun(fixture.fence.as_mut().unwrap());
    assert_eq!(fixture.all_blockers().drain, []);
    fixture.fence.as_mut().unwrap().status.drain_begun_at = None;
    control_plane(&mut fixture, Quorum::Unknown);
    assert!(reasons(&fixture.all_blockers().drain).contains(&"EtcdUnknown"));
}

/// Whatever a record says: where a more disruptive stage has begun a milder one has, and in a closed record none has.
#[test]
fn stages_are_ordered() {
    for phase in [Phase::Pending, Phase::Isolating, Phase::Draining, Phase::Failed, Phase::InDoubt, Phase::Closed] {
        let fence = record("n0", phase);
        assert!(!has_begun(&fence, DisruptionLevel::Power) || has_begun(&fence, DisruptionLevel::Isolate), "{phase:?}");
    }
    let mut closed = record("n0", Phase::Closed);
    closed.status.drain = Some(DrainReport::default());
    assert!(!has_begun(&closed, DisruptionLevel::Isolate));
}

/// The API server's clock says when a record was created, a leader's own when it cut power.
#[test]
fn a_cycle_of_this_record_counts_whatever_the_clocks_say() {
    for cut in [wall(300), wall(1500)] {
        let mut fence = record("n0", Phase::Waiting);
        fence.metadata.creation_timestamp = Some(wall(900));
        fence.status.earlier_cycles = vec![cut];
        assert!(!has_begun(&fence, DisruptionLevel::Power), "those before it have not");
        fence.status.cycles = vec![cut];
        assert!(has_begun(&fence, DisruptionLevel::Power));
    }
}

fn with(phase: Phase, change: fn(&mut NodeFence)) -> NodeFence {
    let mut fence = record("n0", phase);
    change(&mut fence);
    fence
}

fn begun(fence: &mut NodeFence) {
    fence.status.drain_begun_at = Some(wall(950));
}

/// Each thing that shows it shows it alone.
#[test]
fn an_act_is_under_way_by_its_phase_its_intent_or_a_confirmation() {
    use DisruptionLevel::{Drain, Isolate, Power};
    let intent: fn(&mut NodeFence) = |fence| {
        fence.status.intent = Some(Intent { op: IntendedOp::PowerOff, epoch: 1, at: wall(0), pods: 0 });
    };
    let off: fn(&mut NodeFence) = |fence| {
        let boot_id = String::new();
        fence.status.off =
            Some(Confirmation { at: wall(0), reads: 2, by: Vec::new(), boot_id, already_off: false, epoch: 1 });
    };
    for (fence, levels) in [
        (with(Phase::Waiting, |_| {}), [true, false, false]),
        (with(Phase::Draining, |_| {}), [true, false, false]),
        (with(Phase::Draining, begun), [true, true, false]),
        (with(Phase::Waiting, begun), [true, false, false]),
        (with(Phase::Waiting, intent), [true, true, true]),
        (with(Phase::Waiting, off), [true, true, true]),
        (with(Phase::PoweringOff, |_| {}), [true, true, true]),
        (with(Phase::InDoubt, |_| {}), [true, true, true]),
        (with(Phase::KdumpWait, |_| {}), [true, false, false]),
        (with(Phase::Pending, |_| {}), [false, false, false]),
    ] {
        let under_way = [Isolate, Drain, Power].map(|level| is_under_way(&fence, level));
        assert_eq!(under_way, levels, "{:?}", fence.status);
    }
}

#[test]
fn a_record_has_begun_by_what_is_its_own_on_the_node_or_by_what_was_done_there() {
    let taint: fn(&mut NodeFence) = |fence| {
        let taint = Taint { key: "k".into(), value: String::new(), effect: Effect::NoSchedule };
        fence.status.own_changes.taints.push(taint);
    };
    let drained: fn(&mut NodeFence) =
        |fence| fence.status.drain = Some(DrainReport { done: true, ..DrainReport::default() });
    // It waits for its next round, and holds no slot meanwhile.
    let left: fn(&mut NodeFence) = |fence| fence.status.drain = Some(DrainReport::default());
    let left_and_ordered: fn(&mut NodeFence) = |fence| {
        fence.status.drain = Some(DrainReport::default());
        fence.status.cycles = vec![wall(0)];
    };
    for (fence, isolates, disrupts) in [
        (with(Phase::Pending, |_| {}), false, false),
        (with(Phase::Pending, |fence| fence.status.own_changes.cordon = true), true, false),
        (with(Phase::Pending, taint), true, false),
        (with(Phase::Isolating, |_| {}), true, false),
        (with(Phase::Pending, drained), true, true),
        (with(Phase::Waiting, drained), true, true),
        (with(Phase::Waiting, left), true, false),
        (with(Phase::AwaitGuards, left), true, false),
        (with(Phase::Recovering, left), true, true),
        (with(Phase::Waiting, left_and_ordered), true, true),
        (with(Phase::Draining, |_| {}), true, false),
        (with(Phase::Draining, begun), true, true),
        (with(Phase::Pending, |fence| fence.status.cycles = vec![wall(0)]), true, true),
        (with(Phase::Failed, |_| {}), true, true),
        (with(Phase::Closed, drained), false, false),
    ] {
        let begun = (has_begun(&fence, DisruptionLevel::Isolate), has_begun(&fence, DisruptionLevel::Power));
        assert_eq!(begun, (isolates, disrupts), "{:?}", fence.status);
    }
}

#[test]
fn a_policy_begins_disruptively_unless_its_first_step_only_isolates() {
    let step = |change: fn(&mut StepSpec)| {
        let mut step = StepSpec::default();
        change(&mut step);
        step
    };
    for (first, expected) in [
        (Some(step(|step| step.taint = Some(TaintStep::default()))), false),
        (Some(step(|step| step.cordon = Some(CordonStep {}))), false),
        (Some(step(|step| step.drain = Some(DrainStep::default()))), true),
        (Some(step(|step| step.reboot = Some(PowerStep::default()))), true),
        (None, true),
    ] {
        assert_eq!(begins_disruptively(&first.clone().into_iter().collect::<Vec<_>>()), expected, "{first:?}");
    }
}

/// What the drain's own options left is drained again where a step waits for it, and is left on purpose everywhere else.
#[test]
fn a_drain_that_is_to_be_begun_again_holds_no_slot() {
    let report = |done, left| Some(DrainReport { done, left, ..DrainReport::default() });
    for (phase, report, holds) in [
        (Phase::AwaitGuards, report(false, 0), false),
        (Phase::AwaitGuards, report(true, 1), false),
        (Phase::AwaitGuards, report(true, 0), true),
        (Phase::Waiting, report(false, 0), false),
        (Phase::Waiting, report(true, 1), true),
    ] {
        let mut fence = record("n0", phase);
        fence.status.drain = report;
        assert_eq!(has_begun(&fence, DisruptionLevel::Drain), holds, "{phase:?} {:?}", fence.status.drain);
    }
}
