//! What people do to a record or a Node while it is under way, and what stays theirs.

use std::time::Duration;

use super::{
    course::{at, dead, run},
    parts::steps,
    world::World,
};
use crate::{
    action::{Action, Done, Op, ReversibleOp},
    api::{
        ASKED_BY, OUT_OF_SERVICE, RETRY,
        fence::{Blocker, DrainReport, Phase},
    },
    fence::{Next, Wanted},
    snapshot::{PowerReading, PowerState},
    time::Moment,
};

#[test]
fn an_abort_after_off_turns_it_on_and_releases_nothing() {
    let mut world = dead();
    run(&mut world, 400, at(Phase::OffConfirmed));
    world.fence.spec.abort = true;
    let phases = run(&mut world, 400, at(Phase::Closed));
    assert!(!phases.contains(&Phase::PodsReleased), "{phases:?}");
    assert_eq!((world.phase(), world.powered, world.fence.status.released), (Phase::Closed, true, 0));
}

#[test]
fn who_aborted_and_why_stand_in_the_journal() {
    for (said, recorded) in [
        (Some("eva@example.com: its disk\u{7} is changed"), "aborted; asked by eva@example.com: its disk is changed"),
        (None, "aborted; no name is given for it"),
    ] {
        let mut world = dead();
        run(&mut world, 400, at(Phase::Isolating));
        world.fence.spec.abort = true;
        said.map(|said| world.fence.metadata.annotations.insert(ASKED_BY.into(), said.into()));
        run(&mut world, 400, at(Phase::Recovering));
        let journal = &world.fence.status.journal;
        assert!(journal.iter().any(|entry| entry.text.contains(recorded)), "{journal:?}");
    }
}

#[test]
fn a_policy_that_leaves_it_off_waits_for_a_person() {
    let mut world = dead();
    world.fence.spec.steps[1].power_cycle.as_mut().unwrap().leave_off = true;
    run(&mut world, 300, |_| false);
    world.gathered.pods = Some((world.now.moment, Vec::new()));
    run(&mut world, 2, |_| false);
    assert_eq!((world.phase(), world.powered), (Phase::PodsReleased, false));
    assert_eq!(world.fence.status.blocked_by.unwrap().reason, "LeftOff");
}

#[test]
fn who_turns_on_what_was_left_off_is_not_cut_off_again() {
    let mut world = dead();
    world.fence.spec.steps[1].power_cycle.as_mut().unwrap().leave_off = true;
    run(&mut world, 300, |_| false);
    let cycles = world.fence.status.cycles.len();
    world.turn(true);
    world.alive = false;
    let mut phases = run(&mut world, 100, |_| false);
    assert!(world.node.as_ref().unwrap().taint(OUT_OF_SERVICE).is_some(), "{phases:?}");
    world.alive = true;
    world.wanted = Wanted::No { since: world.now.moment };
    phases.extend(run(&mut world, 400, at(Phase::Closed)));
    assert_eq!((world.phase(), world.fence.status.cycles.len()), (Phase::Closed, cycles), "{phases:?}");
    assert!(!phases.contains(&Phase::PoweringOff), "{phases:?}");
}

/// Off was read, and it took seconds to be written; meanwhile its BMC reported On.
#[test]
fn a_machine_that_was_turned_on_before_off_was_written_is_not_tainted() {
    let mut world = dead();
    run(&mut world, 400, at(Phase::OffConfirmed));
    world.fence.status.off.as_mut().unwrap().at -= Duration::from_secs(2);
    let at = Moment(world.now.moment.0 - Duration::from_secs(1));
    // It may have reported Off again since: what was On once was no Off.
    let reading = |at, state| PowerReading { at, state };
    world.gathered.power = vec![reading(at, PowerState::On), reading(world.now.moment, PowerState::Off)];
    let Next::Act(Action::Save { fence, .. }) = world.next() else { panic!("{:?}", world.next()) };
    assert_eq!((fence.status.phase, fence.status.off), (Phase::Guarded, None));
    world.gathered.power[0].at = Moment(at.0 - Duration::from_secs(2));
    let Next::Act(Action::Save { fence, .. }) = world.next() else { panic!("{:?}", world.next()) };
    assert_eq!(fence.status.phase, Phase::PodsReleased, "On was before Off");
}

#[test]
fn an_out_of_service_taint_that_was_taken_away_is_set_again_before_any_pod_goes() {
    let mut world = dead();
    world.fence.spec.steps[1].power_cycle.as_mut().unwrap().leave_off = true;
    run(&mut world, 400, |world| world.fence.status.released > 0);
    world.node.as_mut().unwrap().taints.clear();
    let mut phases = run(&mut world, 3, |_| false);
    assert!(phases.contains(&Phase::OffConfirmed), "{phases:?}");
    phases.extend(run(&mut world, 60, at(Phase::PodsReleased)));
    run(&mut world, 3, |_| false);
    assert!(world.node.unwrap().taint(OUT_OF_SERVICE).is_some(), "{phases:?}");
}

#[test]
fn a_node_that_was_given_up_and_taken_away_closes_the_record() {
    let mut world = dead();
    world.fence.status.phase = Phase::Quarantined;
    world.fence.status.blocked_by = Some(Blocker::new("RestartLimit", ""));
    world.node = None;
    run(&mut world, 2, |_| false);
    assert_eq!(world.phase(), Phase::Closed);
}

#[test]
fn a_node_that_is_gone_closes_the_record_and_a_machine_that_is_off_does_not() {
    let mut world = dead();
    run(&mut world, 5, |_| false);
    let mut off = dead();
    run(&mut off, 400, at(Phase::OffConfirmed));
    (world.node, off.node) = (None, None);
    run(&mut world, 2, |_| false);
    run(&mut off, 2, |_| false);
    assert_eq!(world.phase(), Phase::Closed);
    assert_eq!((off.phase(), off.fence.status.blocked_by.unwrap().reason.as_str()), (Phase::Quarantined, "NodeGone"));
}

#[test]
fn another_node_of_the_name_is_left_alone() {
    let mut world = dead();
    world.node.as_mut().unwrap().uid = "uid-2".into();
    run(&mut world, 2, |_| false);
    assert_eq!(world.phase(), Phase::Closed);
    assert!(!world.node.unwrap().unschedulable);
}

#[test]
fn a_blocker_is_written_once_and_not_again_for_new_numbers() {
    let mut world = dead();
    run(&mut world, 10, at(Phase::Guarded));
    assert!(matches!(world.next(), Next::Act(Action::Save { .. })));
    run(&mut world, 1, |_| false);
    world.pass(Duration::from_secs(3));
    assert!(matches!(world.next(), Next::Wait { blockers, .. } if blockers[0].reason == "NodeReady"));
}

#[test]
fn the_numbers_of_a_blocker_are_written_again_once_a_minute_and_not_told() {
    let mut world = dead();
    run(&mut world, 10, at(Phase::Isolating));
    let recorded = |seconds: u32| vec![Blocker::new("Storm", format!("{seconds} nodes are not well"))];
    world.permits.isolate = recorded(3);
    let Next::Act(Action::Save { fence, why }) = world.next() else { panic!("{:?}", world.next()) };
    assert_eq!((why.reason.as_str(), why.warning), ("Blocked", true));
    world.store(*fence);
    world.permits.isolate = recorded(4);
    world.pass(Duration::from_secs(59));
    assert!(matches!(world.next(), Next::Wait { .. }), "{:?}", world.next());
    world.pass(Duration::from_secs(1));
    let Next::Act(Action::Save { fence, why }) = world.next() else { panic!("{:?}", world.next()) };
    assert_eq!((why.message.as_str(), fence.status.journal.len()), ("", world.fence.status.journal.len()));
    assert!(fence.status.blocked_by.as_ref().unwrap().message.contains("4 nodes"), "{:?}", fence.status.blocked_by);
    world.store(*fence);
    world.pass(Duration::from_secs(61));
    assert!(matches!(world.next(), Next::Wait { .. }), "the same numbers are not written again");
}

#[test]
fn other_words_of_a_blocker_are_written_soon_for_a_person_is_mending_what_they_say() {
    let mut world = dead();
    run(&mut world, 10, at(Phase::Isolating));
    world.permits.isolate = vec![Blocker::new("Storm", "the line 3 has a typo")];
    let Next::Act(Action::Save { fence, .. }) = world.next() else { panic!("{:?}", world.next()) };
    world.store(*fence);
    world.permits.isolate = vec![Blocker::new("Storm", "line 3 is right, and the Secret is missing")];
    world.pass(Duration::from_secs(9));
    assert!(matches!(world.next(), Next::Wait { .. }), "{:?}", world.next());
    world.pass(Duration::from_secs(1));
    let Next::Act(Action::Save { fence, why }) = world.next() else { panic!("{:?}", world.next()) };
    assert!(fence.status.blocked_by.as_ref().unwrap().message.contains("Secret") && why.message.is_empty(), "{why:?}");
}

#[test]
fn a_policy_that_breaks_while_it_waits_is_told_at_once() {
    let mut world = dead();
    world.fence.spec.steps = steps(&["cordon"]);
    run(&mut world, 10, at(Phase::Waiting));
    (world.policy, world.wanted) = (None, Wanted::Unknown);
    let Next::Act(Action::Save { fence, .. }) = world.next() else { panic!("{:?}", world.next()) };
    assert_eq!(fence.status.blocked_by.as_ref().unwrap().reason, "PolicyUnreadable");
    assert_eq!(fence.status.phase, Phase::Waiting);
}

#[test]
fn a_predicate_that_errs_or_is_false_is_no_blocker_while_it_waits_anyway() {
    let mut world = dead();
    world.fence.spec.steps = steps(&["cordon"]);
    run(&mut world, 10, at(Phase::Waiting));
    for wanted in [Wanted::Unknown, Wanted::Yes] {
        world.wanted = wanted;
        assert!(matches!(world.next(), Next::Wait { blockers, .. } if blockers.is_empty()), "{:?}", world.next());
    }
}

#[test]
fn a_policy_that_is_true_no_more_says_so_and_speaks_of_no_readiness() {
    let mut world = dead();
    run(&mut world, 2, |_| false);
    world.wanted = Wanted::No { since: world.now.moment };
    world.fence.status.ours.cordon = false;
    let blockers = super::super::begin::unwanted(&world.case());
    assert_eq!(blockers.iter().map(|blocker| blocker.reason.as_str()).collect::<Vec<_>>(), ["PredicateFalse"]);
}

#[test]
fn what_was_done_is_told_with_what_comes_next() {
    let mut world = dead();
    world.fence.spec.steps = steps(&["cordon", "drain", "power"]);
    let tell = |world: &World, op: &Op, done| crate::fence::absorb(&world.fence, op, &Ok(done), world.epoch, world.now);
    run(&mut world, 10, at(Phase::Isolating));
    let (fence, recorded) = tell(&world, &Op::Reversible(ReversibleOp::Cordon), Done::Yes);
    assert_eq!((recorded.reason.as_str(), recorded.message.as_str()), ("Cordoned", "cordoned; ended; step 2: drain"));
    world.store(fence);
    let report =
        DrainReport { done: false, refused_evictions: vec!["shop/db-0: PodDisruptionBudget db".into()], left: 0 };
    let rules = match world.next() {
        Next::Act(Action::Perform { op: Op::Reversible(ReversibleOp::Drain(rules)), .. }) => rules,
        other => panic!("{other:?}"),
    };
    let (_, recorded) = tell(&world, &Op::Reversible(ReversibleOp::Drain(rules)), Done::Drain(report));
    assert_eq!((recorded.reason.as_str(), recorded.warning), ("EvictionsRefused", true));
    assert_eq!(recorded.message, "not done: shop/db-0: PodDisruptionBudget db; ended; step 3: powerCycle");
}

#[test]
fn a_taint_that_was_there_before_is_not_ours_to_take() {
    let mut world = World::new(steps(&["taint", "cordon"]));
    let Next::Act(Action::Save { .. }) = world.next() else { panic!() };
    let taint = crate::facts::Taint {
        key: crate::api::REMEDIATION_TAINT.into(),
        value: String::new(),
        effect: crate::facts::Effect::NoSchedule,
    };
    world.node.as_mut().unwrap().taints.push(taint);
    run(&mut world, 10, at(Phase::Waiting));
    world.wanted = Wanted::No { since: world.now.moment };
    run(&mut world, 60, at(Phase::Closed));
    let node = world.node.unwrap();
    assert_eq!((node.taints.len(), node.unschedulable), (1, false));
}

/// Cordoned, and then well; the record forgot the cordon, as one does that was opened again.
fn cordoned_and_forgotten() -> World {
    let mut world = World::new(steps(&["cordon"]));
    run(&mut world, 10, at(Phase::Waiting));
    world.fence.status.ours.cordon = false;
    world.wanted = Wanted::No { since: world.now.moment };
    world
}

fn is_marked(world: &World) -> bool {
    world.node.as_ref().unwrap().annotations.contains_key(crate::api::CORDONED_BY)
}

#[test]
fn the_mark_that_a_person_left_when_they_uncordoned_goes() {
    let mut world = cordoned_and_forgotten();
    world.node.as_mut().unwrap().unschedulable = false;
    run(&mut world, 60, at(Phase::Closed));
    assert_eq!((world.phase(), is_marked(&world)), (Phase::Closed, false));
}

#[test]
fn a_cordon_that_a_person_repeated_stays_and_the_record_ends() {
    let mut world = cordoned_and_forgotten();
    world.cordoned_by_hand = true;
    run(&mut world, 60, at(Phase::Closed));
    assert_eq!((world.phase(), is_marked(&world)), (Phase::Closed, false));
    assert!(world.node.unwrap().unschedulable);
}

#[test]
fn a_record_deleted_by_hand_leaves_a_node_that_the_next_record_brings_back() {
    let mut world = dead();
    run(&mut world, 400, |world| world.phase() == Phase::PodsReleased);
    world.fence = World::new(steps(&["cordon", "power"])).fence;
    world.entered = world.now.moment;
    run(&mut world, 400, at(Phase::AwaitReady));
    world.wanted = Wanted::No { since: world.now.moment };
    run(&mut world, 400, at(Phase::Closed));
    let node = world.node.as_ref().unwrap();
    assert!(
        world.phase() == Phase::Closed && node.taints.is_empty() && !node.unschedulable,
        "{:?}",
        world.fence.status
    );
}

#[test]
fn a_person_may_ask_for_another_try_once_with_each_word() {
    let mut world = dead();
    run(&mut world, 400, at(Phase::Guarded));
    world.permits.power = vec![crate::api::fence::Blocker::new("RestartLimit", "2 in 24h")];
    run(&mut world, 2, |_| false);
    assert_eq!(world.phase(), Phase::Quarantined);
    world.fence.metadata.annotations.insert(RETRY.into(), "replaced the board".into());
    let phases = run(&mut world, 20, |_| false);
    assert_eq!(phases[1], Phase::InDoubt);
    assert_eq!(world.phase(), Phase::Quarantined);
}

#[test]
fn a_drain_ends_at_its_total_time_under_any_leader() {
    let mut world = World::new(steps(&["cordon", "drain", "reboot"]));
    run(&mut world, 5, at(Phase::Draining));
    world.pass(Duration::from_secs(200));
    world.entered = world.now.moment;
    let Next::Act(Action::Perform { op: Op::Reversible(ReversibleOp::Drain(rules)), .. }) = world.next() else {
        panic!()
    };
    assert_eq!(rules.timeout, Duration::from_secs(400));
    world.pass(Duration::from_secs(400));
    run(&mut world, 2, |_| false);
    assert!(!world.fence.status.drain.as_ref().unwrap().done);
    assert_eq!(world.fence.status.blocked_by.unwrap().reason, "DrainFailed");
}

#[test]
fn an_aborted_record_stays_until_the_node_is_well_or_a_person_deletes_it() {
    let mut world = dead();
    run(&mut world, 5, |_| false);
    world.fence.spec.abort = true;
    run(&mut world, 400, at(Phase::Closed));
    assert!(!run(&mut world, 30, |_| false).contains(&Phase::PoweringOff));
    assert_eq!(world.fence.status.blocked_by.as_ref().unwrap().reason, "Aborted");
    assert!(matches!(world.next(), Next::Wait { .. }), "closed, it would be opened again at once");
    world.wanted = Wanted::No { since: world.now.moment };
    world.now.moment = world.now.moment.plus(Duration::from_secs(3600));
    assert!(matches!(world.next(), Next::Act(Action::Close { .. })));
}
