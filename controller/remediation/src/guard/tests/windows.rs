//! What counts in a window and until when, to the second, and what is known of a record's stages.

use std::collections::BTreeMap;

use super::*;
use crate::{
    api::{
        fence::{Confirmation, DrainReport, IntendedOp, Intent},
        policy::{CordonStep, DrainStep, PowerStep, TaintStep},
    },
    decide::Handover,
    facts::kubelet,
    guard::{
        history::History,
        life::{self, Life},
        stage::{begins_disruptively, has_begun, is_under_way},
    },
};

const WINDOW: Duration = Duration::from_secs(60);

fn rate() -> Rate {
    Rate { count: 10, window: WINDOW }
}

#[test]
fn what_was_done_counts_until_its_window_is_over() {
    let mut history = History::default();
    history.charge("p", "n1", "f", DisruptionLevel::Power, at(100));
    history.charge_pods("p", "n1", 5, at(100));
    history.remember_departed(&[("n1".to_owned(), [(wall(100), at(100))].into())].into());
    for (second, counts) in [(159, true), (160, false)] {
        let one = usize::from(counts);
        assert_eq!(history.started_within("p", DisruptionLevel::Power, "n0", WINDOW, at(second)), one, "{second}");
        assert_eq!(history.pods("p", rate(), "n0", at(second)), 5 * one, "{second}");
        assert_eq!(history.has_moved_pods("p", rate(), "n1", at(second)), counts, "{second}");
        assert_eq!(history.cycles("n1", None, WINDOW, now(second)), one, "{second}");
    }
    assert_eq!(history.cycles("n1", Some(&wall(100)), WINDOW, now(100)), 0, "but for that which is this one");
}

#[test]
fn a_handover_that_was_lost_uses_up_each_window_once() {
    let history = History::inherited(&Handover::lost(), now(1000));
    for (second, expected) in [(1000, usize::MAX), (1059, usize::MAX), (1060, 0)] {
        assert_eq!(history.started_within("p", DisruptionLevel::Power, "n0", WINDOW, at(second)), expected);
        assert_eq!(history.pods("p", rate(), "n0", at(second)), expected);
    }
}

#[test]
fn the_newest_power_cycles_of_a_node_are_remembered() {
    for (seen, first) in [(63, 0), (64, 0), (65, 1), (70, 6)] {
        let mut snapshot = Snapshot { nodes: [("n1".to_owned(), node("n1"))].into(), ..Snapshot::default() };
        let mut fence = record("n1", Phase::Waiting);
        fence.status.cycles = (0..seen).map(wall).collect();
        snapshot.fences.insert("n1".into(), fence);
        let mut history = History::default();
        history.learn(&snapshot, now(1000));
        assert_eq!(history.cycles_of("n1"), (first..seen).map(wall).collect::<Vec<_>>());
    }
}

/// Its end is reported in the record; of one that is gone it is not, and it counts.
#[test]
fn a_power_off_counts_if_its_record_goes_while_it_is_intended() {
    let mut intending = record("n1", Phase::PoweringOff);
    intending.status.intent = Some(Intent { op: IntendedOp::PowerOff, epoch: 1, at: wall(100), pods: 0 });
    let reported = record("n1", Phase::AwaitGuards);
    let mut another = reported.clone();
    another.metadata.uid = "another".into();
    for (after, counts) in [(None, true), (Some(reported), false), (Some(another), true)] {
        let mut snapshot = Snapshot { nodes: [("n1".to_owned(), node("n1"))].into(), ..Snapshot::default() };
        snapshot.fences.insert("n1".into(), intending.clone());
        let mut history = History::default();
        history.learn(&snapshot, now(110));
        assert!(history.cycles_of("n1").is_empty());
        snapshot.fences = after.map(|fence| ("n1".to_owned(), fence)).into_iter().collect();
        history.learn(&snapshot, now(120));
        assert_eq!(history.cycles_of("n1").len(), usize::from(counts), "{:?}", snapshot.fences);
    }
}

/// The longest window of any policy, and of the defaults; of a policy that cannot be read it is not known.
#[test]
fn what_is_older_than_every_window_is_forgotten_and_nothing_else_is() {
    let hours = Duration::from_secs(100 * 3600);
    let mut policy = Policy { name: "p".into(), pods: Rate { count: 1, window: hours }, ..wide() };
    policy.budget.rate = Some(rate());
    let all = |history: &History, policy: &str| {
        let forever = Rate { count: 1, window: Duration::MAX };
        let started = history.started_within(policy, DisruptionLevel::Power, "n0", Duration::MAX, at(0));
        (started, history.pods(policy, forever, "n0", at(0)))
    };
    for (age, unreadable, left) in [(100 * 3600 - 1, false, true), (100 * 3600, false, false), (100 * 3600, true, true)]
    {
        let mut history = History::default();
        for name in ["p", "q"] {
            history.charge(name, "n1", "f", DisruptionLevel::Power, at(1000));
            history.charge_pods(name, "n1", 5, at(1000));
        }
        let mut snapshot = Snapshot { policies: vec![policy.clone()], ..Snapshot::default() };
        if unreadable {
            snapshot.unreadable_policies.insert("q".into(), "line 3".into());
        }
        history.forget(&snapshot, at(1000 + age));
        assert_eq!(all(&history, "q"), if left { (1, 5) } else { (0, 0) }, "{age} {unreadable}");
    }
}

fn with(phase: Phase, change: fn(&mut NodeFence)) -> NodeFence {
    let mut fence = record("n0", phase);
    change(&mut fence);
    fence
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
        (with(Phase::Draining, |_| {}), [true, true, false]),
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
    let drained: fn(&mut NodeFence) = |fence| fence.status.drain = Some(DrainReport::default());
    for (fence, isolates, disrupts) in [
        (with(Phase::Pending, |_| {}), false, false),
        (with(Phase::Pending, |fence| fence.status.own_changes.cordon = true), true, false),
        (with(Phase::Pending, taint), true, false),
        (with(Phase::Isolating, |_| {}), true, false),
        (with(Phase::Pending, drained), true, true),
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

/// The controller itself may have silenced it.
#[test]
fn a_node_that_is_ready_and_silent_lives_unless_its_power_is_being_cut() {
    for (phase, silent, expected) in [
        (None, 12, Life::Lives),
        (None, 13, Life::Lives),
        (Some(Phase::Waiting), 13, Life::Lives),
        (Some(Phase::AwaitReady), 13, Life::Unknown),
        (Some(Phase::AwaitReady), 12, Life::Lives),
    ] {
        let mut snapshot = Snapshot::default();
        let lease = LeaseView {
            resource_version: String::new(),
            holder: "n0".into(),
            renewed: Some(wall(0)),
            duration: kubelet::LEASE_DURATION,
            change_seen_at: at(100),
        };
        snapshot.kubelet_leases = BTreeMap::from([("n0".to_owned(), lease)]);
        snapshot.fences = phase.map(|phase| ("n0".to_owned(), record("n0", phase))).into_iter().collect();
        assert_eq!(life::of(&snapshot, &node("n0"), at(100 + silent)), expected, "{phase:?} {silent}");
    }
}
