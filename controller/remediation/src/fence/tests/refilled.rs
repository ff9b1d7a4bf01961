//! Pods that come onto a node after a drain has emptied it.

use std::time::Duration;

use super::{
    course::{at, run},
    fixture::Fixture,
    parts::{pod, steps},
};
use crate::{
    action::Action,
    api::fence::{Blocker, DrainReport, Phase},
    facts::{Deletion, Owner, Pod},
    fence::{Next, must_be_silent},
};

/// Before its last step, drained and cordoned; these pods have come since.
fn refilled(kinds: &[&str], pods: Vec<Pod>) -> Fixture {
    let mut fixture = Fixture::new(steps(kinds));
    let status = &mut fixture.fence.status;
    (status.phase, status.policy_step) = (Phase::AwaitGuards, kinds.len() - 1);
    status.drain = Some(DrainReport { done: true, refused_evictions: Vec::new(), left: 0 });
    status.own_changes.cordon = true;
    fixture.node.as_mut().unwrap().unschedulable = true;
    fixture.pass(Duration::from_secs(1));
    fixture.gathered.pods = Some((fixture.now.moment, pods.clone()));
    fixture.listed = Some(pods);
    fixture
}

fn is_void(fixture: &Fixture) -> bool {
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { return false };
    let report = fence.status.drain.as_ref();
    fence.status.phase == fixture.phase() && report.is_some_and(|report| !report.done)
}

fn deleting(name: &str) -> Pod {
    let deletion = Deletion { at: jiff::Timestamp::UNIX_EPOCH, grace: Duration::from_secs(30) };
    Pod { deleting: Some(deletion), ..pod(name) }
}

/// Or the last look refuses, again and again, what the drain's report asks for.
#[test]
fn a_dead_node_that_pods_came_onto_is_fenced_by_its_silence() {
    for (powered, next) in [(true, Phase::PoweringOff), (false, Phase::OffConfirmed)] {
        let mut fixture = refilled(&["cordon", "drain", "power"], vec![pod("came")]);
        (fixture.alive, fixture.powered) = (false, powered);
        let phases = run(&mut fixture, 200, |fixture| fixture.phase() != Phase::AwaitGuards);
        assert_eq!(phases, [Phase::AwaitGuards, next], "{:?}", fixture.fence.status);
        assert!(must_be_silent(&fixture.fence), "{:?}", fixture.fence.status);
        run(&mut fixture, 200, |fixture| fixture.fence.status.released > 0);
        assert!(fixture.fence.status.released > 0, "{:?}", fixture.fence.status);
    }
}

#[test]
fn a_living_node_that_pods_came_onto_is_drained_again() {
    for kinds in [&["cordon", "drain", "reboot"], &["cordon", "drain", "power"], &["cordon", "drain", "reap"]] {
        let mut fixture = refilled(kinds, vec![pod("came")]);
        assert!(is_void(&fixture), "{kinds:?}: {:?}", fixture.next());
        let phases = run(&mut fixture, 400, at(Phase::Draining));
        assert_eq!(phases, [Phase::AwaitGuards, Phase::Pending, Phase::Isolating, Phase::Draining], "{kinds:?}");
        assert_eq!(fixture.fence.status.drain_rounds, 1);
    }
}

/// What comes back with the node is no reason, nor what is not here, nor what was seen before the drain's end.
#[test]
fn a_drain_is_void_for_pods_of_after_its_end_alone() {
    let daemon = Owner { kind: "DaemonSet".into(), name: "d".into(), uid: "d".into(), gone: false };
    for (name, other) in [
        ("a DaemonSet's", Pod { owner: Some(daemon), ..pod("d") }),
        ("static", Pod { mirror: true, ..pod("s") }),
        ("finished", Pod { phase: "Succeeded".into(), ..pod("f") }),
        ("another node's", Pod { node: "worker-2".into(), ..pod("o") }),
        ("goes", deleting("g")),
    ] {
        let mut fixture = refilled(&["cordon", "drain", "reboot"], vec![other]);
        assert!(!is_void(&fixture), "{name}");
        run(&mut fixture, 5, at(Phase::PoweringOff));
        assert_eq!(fixture.phase(), Phase::PoweringOff, "{name}: {:?}", fixture.fence.status.blocked_by);
    }
    let mut fixture = refilled(&["cordon", "drain", "reboot"], vec![pod("gone by now")]);
    fixture.entered = fixture.now.moment.plus(Duration::from_secs(1));
    fixture.now.moment = fixture.entered;
    assert!(!is_void(&fixture));
}

/// An act that one of its pods forbade is not decided again upon a list of before.
#[test]
fn after_an_act_that_was_not_begun_its_pods_are_listed_first() {
    let mut fixture = refilled(&["cordon", "drain", "reboot"], Vec::new());
    fixture.fence.status.blocked_by = vec![Blocker::new("NotBegun", "shop/came came after the drain")];
    fixture.entered = fixture.now.moment.plus(Duration::from_millis(1));
    fixture.now.moment = fixture.now.moment.plus(Duration::from_secs(3));
    let waits = |fixture: &Fixture| matches!(fixture.next(), Next::Wait { until: Some(_), .. });
    assert!(waits(&fixture), "{:?}", fixture.next());
    fixture.gathered.pods = Some((fixture.now.moment, Vec::new()));
    assert!(!waits(&fixture), "{:?}", fixture.next());
}

/// Its steps are not begun again: the pods may go, or the node may die.
#[test]
fn after_an_order_a_living_node_waits_for_the_pods_to_go() {
    for kinds in [&["cordon", "drain", "reboot"], &["cordon", "drain", "power"]] {
        let mut fixture = refilled(kinds, vec![pod("came")]);
        fixture.fence.status.ordered_off = true;
        run(&mut fixture, 60, |_| false);
        let blocked: Vec<&str> =
            fixture.fence.status.blocked_by.iter().map(|blocker| blocker.reason.as_str()).collect();
        assert_eq!(fixture.phase(), Phase::AwaitGuards, "{kinds:?}");
        assert!(blocked.contains(&"DrainFailed"), "{kinds:?}: {blocked:?}");
        assert!(fixture.fence.status.drain.as_ref().is_some_and(DrainReport::emptied), "{kinds:?}");
        fixture.listed = Some(Vec::new());
        run(&mut fixture, 5, at(Phase::PoweringOff));
        assert_eq!(fixture.phase(), Phase::PoweringOff, "{kinds:?}");
    }
    let mut fixture = refilled(&["cordon", "drain", "power"], vec![pod("came")]);
    (fixture.fence.status.ordered_off, fixture.alive) = (true, false);
    run(&mut fixture, 200, at(Phase::PoweringOff));
    assert!(must_be_silent(&fixture.fence), "{:?}", fixture.fence.status);
}

/// Those that are being deleted run as well: what the kubelet has renewed since the power was cut is asked for.
#[test]
fn what_a_release_would_end_after_a_drain_came_since() {
    for (pods, storage, is_expected) in [
        (vec![pod("came")], None, true),
        (vec![deleting("goes")], None, true),
        (Vec::new(), None, false),
        (vec![pod("came")], Some("san"), false),
    ] {
        let mut fixture = refilled(&["cordon", "drain", "power"], Vec::new());
        run(&mut fixture, 400, at(Phase::OffConfirmed));
        fixture.fence.status.storage_only = storage.map(str::to_owned);
        fixture.gathered.pods = Some((fixture.now.moment, pods.clone()));
        assert_eq!(is_void(&fixture), is_expected, "{pods:?} {storage:?}: {:?}", fixture.next());
    }
    let mut fixture = refilled(&["cordon", "drain", "power"], Vec::new());
    run(&mut fixture, 400, at(Phase::OffConfirmed));
    fixture.listed = Some(vec![pod("came")]);
    fixture.kubelet.as_mut().unwrap().renewed = Some(fixture.now.wall);
    let phases = run(&mut fixture, 10, at(Phase::AwaitGuards));
    assert_eq!(phases, [Phase::OffConfirmed, Phase::AwaitGuards], "it has spoken since");
}
