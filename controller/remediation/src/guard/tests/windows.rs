//! What counts in a window and until when, to the second, and which nodes take a slot.

use std::collections::BTreeMap;

use super::*;
use crate::{
    api::{
        fence::{IntendedOp, Intent},
        policy::DrainStep,
    },
    decide::Handover,
    facts::kubelet,
    guard::{
        history::History,
        life::{self, Life},
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

/// Its BMC takes a while for the last look: the pods go at its end.
#[test]
fn a_release_counts_for_a_window_from_its_end_on() {
    let mut fence = record("n1", Phase::PodsReleased);
    fence.status.intent = Some(Intent { op: IntendedOp::Release, epoch: 1, at: wall(100), pods: 5 });
    let mut snapshot = Snapshot {
        fences: [("n1".to_owned(), fence)].into(),
        policies: vec![Policy { name: "p".into(), ..wide() }],
        busy: ["n1".to_owned()].into(),
        ..Snapshot::default()
    };
    let mut history = History::default();
    [100, 117].into_iter().for_each(|second| history.learn(&snapshot, now(second)));
    // It is neither under way nor over, and waits for who knows how long; then its BMC is asked, again and again.
    snapshot.busy.clear();
    history.learn(&snapshot, now(130));
    snapshot.fences.get_mut("n1").unwrap().status.phase = Phase::InDoubt;
    snapshot.busy.insert("n1".to_owned());
    history.learn(&snapshot, now(140));
    for (second, expected) in [(176, 5), (177, 0)] {
        assert_eq!(history.pods("p", rate(), "n0", at(second)), expected, "{second}");
    }
}

/// A clock was set back, or another one is ahead: what is of the future by it is of now, once.
#[test]
fn a_record_of_the_future_began_when_it_was_first_seen() {
    let mut fence = record("n1", Phase::Draining);
    (fence.metadata.creation_timestamp, fence.status.drain_begun_at) = (Some(wall(3000)), Some(wall(3000)));
    let snapshot = |fence: &NodeFence| Snapshot {
        fences: [("n1".to_owned(), fence.clone())].into(),
        policies: vec![Policy { name: "p".into(), ..wide() }],
        ..Snapshot::default()
    };
    let mut history = History::default();
    let counted = |history: &History, second| {
        [DisruptionLevel::Isolate, DisruptionLevel::Power]
            .map(|level| history.started_within("p", level, "n0", WINDOW, at(second)))
    };
    for second in [1000, 1001, 1059, 1060, 1061] {
        history.learn(&snapshot(&fence), now(second));
        assert_eq!(counted(&history, second), [usize::from(second < 1060); 2], "{second}");
    }
    fence.status.drain_begun_at = Some(wall(3100));
    history.learn(&snapshot(&fence), now(1070));
    assert_eq!(counted(&history, 1070), [0, 1], "another round");
    // What is older than every window is forgotten, and is no younger when it is looked at again.
    history.forget(&snapshot(&fence), at(100_000));
    history.learn(&snapshot(&fence), now(100_000));
    assert_eq!(counted(&history, 100_000), [0, 0]);
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

/// Not Ready is reported 40 s later.
#[test]
fn a_node_is_unavailable_when_its_renewal_is_overdue() {
    for (silent, unavailable) in [(12, 0), (13, 1)] {
        let mut snapshot = Snapshot { policies: vec![wide()], ..Snapshot::default() };
        snapshot.nodes.insert("n0".into(), node("n0"));
        let lease = LeaseView {
            resource_version: String::new(),
            holder: "n0".into(),
            renewed: Some(wall(0)),
            duration: kubelet::LEASE_DURATION,
            change_seen_at: at(100),
        };
        snapshot.kubelet_leases.insert("n0".into(), lease);
        assert_eq!(budgets::usage(&snapshot, at(100 + silent))[0].living, unavailable, "{silent}");
    }
}

/// Before it has begun; one that is over, or was given up and mended by a person, takes none.
#[test]
fn an_open_record_reserves_the_slot_of_its_first_step() {
    let drains = |fence: &mut NodeFence| {
        fence.spec.steps = vec![StepSpec { drain: Some(DrainStep::default()), ..StepSpec::default() }];
    };
    for (phase, is_well, first, isolated, disrupted) in [
        (Phase::Pending, true, "cordon", 1, 0),
        (Phase::Pending, true, "drain", 1, 1),
        (Phase::Closed, false, "drain", 0, 0),
        (Phase::Recovering, false, "drain", 0, 0),
        (Phase::Quarantined, true, "drain", 0, 0),
        (Phase::Quarantined, false, "drain", 1, 1),
        (Phase::Quarantined, false, "cordon", 1, 0),
    ] {
        let mut snapshot = Snapshot::default();
        let mut one = node("n0");
        if !is_well {
            kill(&mut one);
        }
        snapshot.nodes.insert("n0".into(), one);
        let mut fence = record("n0", phase);
        if first == "drain" {
            drains(&mut fence);
        }
        let mut tally = Tally::new(&snapshot, at(1000));
        tally.reserve("n0", &fence);
        let under = |level| tally.under_remediation("p", level, "another");
        let found = (under(DisruptionLevel::Isolate), under(DisruptionLevel::Power));
        assert_eq!(found, (isolated, disrupted), "{phase:?} {is_well} {first}");
    }
}

/// A cordon takes no slot of what ends pods.
#[test]
fn nodes_under_remediation_are_counted_by_what_is_done_to_them() {
    let mut fixture = Fixture::new();
    fixture.snapshot.fences.insert("n1".into(), record("n1", Phase::Isolating));
    let tally = Tally::new(&fixture.snapshot, at(1000));
    let of = |level| tally.cluster("n2", level).lost_or_remediated;
    assert_eq!((of(DisruptionLevel::Isolate), of(DisruptionLevel::Power)), (3, 2), "n0 is lost, n1 is cordoned");
}

#[test]
fn a_node_that_is_silent_without_a_lease_is_neither_dead_nor_alive() {
    let mut fixture = Fixture::new();
    let mut expired = node("n1");
    kill(&mut expired);
    fixture.snapshot.nodes.insert("n1".into(), expired);
    let lease = LeaseView {
        resource_version: String::new(),
        holder: "n1".into(),
        renewed: Some(wall(0)),
        duration: kubelet::LEASE_DURATION,
        change_seen_at: at(900),
    };
    fixture.snapshot.kubelet_leases.insert("n1".into(), lease);
    let tally = Tally::new(&fixture.snapshot, at(1000));
    let of = |name| (tally.is_dead(name), tally.is_unknown(name));
    assert_eq!([of("n0"), of("n1"), of("n2")], [(false, true), (true, false), (false, false)]);
}

#[test]
fn a_node_is_new_until_its_grace_period_is_over() {
    for (created, is_new) in [(901, true), (900, false)] {
        let mut fixture = Fixture::new();
        fixture.policy.node_startup_grace_period = Duration::from_secs(100);
        fixture.node().created = wall(created);
        assert_eq!(reasons(&fixture.all_blockers().power), if is_new { vec!["NewNode"] } else { vec![] }, "{created}");
    }
}

/// It moves no pod, and must not be left in doubt for that.
#[test]
fn a_power_off_that_is_intended_waits_for_no_list_of_pods() {
    for (phase, expected) in [(Phase::PoweringOff, vec![]), (Phase::OffConfirmed, vec!["PodsUnknown"])] {
        let mut fixture = Fixture::new();
        fixture.open(phase);
        fixture.snapshot.gathered.clear();
        assert_eq!(reasons(&fixture.all_blockers().power), expected, "{phase:?}");
    }
}
