//! What people do to a record or a Node while it is under way, and what stays theirs.

use std::time::Duration;

use super::{
    course::{at, dead, run},
    fixture::Fixture,
    parts::{reading, steps},
};
use crate::{
    action::{Action, Done, Op, ReversibleOp},
    api::{
        ASKED_BY, OUT_OF_SERVICE,
        fence::{Blocker, DrainReport, Phase},
    },
    fence::{Next, PredicateState},
    snapshot::PowerState,
    time::Moment,
};

#[test]
fn an_abort_after_off_turns_it_on_and_releases_nothing() {
    let mut fixture = dead();
    run(&mut fixture, 400, at(Phase::OffConfirmed));
    fixture.fence.spec.abort = true;
    let phases = run(&mut fixture, 400, at(Phase::Closed));
    assert!(!phases.contains(&Phase::PodsReleased), "{phases:?}");
    assert_eq!((fixture.phase(), fixture.powered, fixture.fence.status.released), (Phase::Closed, true, 0));
}

#[test]
fn who_aborted_and_why_stand_in_the_log() {
    for (asked_by, recorded) in [
        (Some("eva@example.com: its disk\u{7} is changed"), "aborted (asked by eva@example.com: its disk is changed)"),
        (None, "aborted (no name is given for it)"),
    ] {
        let mut fixture = dead();
        run(&mut fixture, 400, at(Phase::Isolating));
        fixture.fence.spec.abort = true;
        asked_by.map(|asked_by| fixture.fence.metadata.annotations.insert(ASKED_BY.into(), asked_by.into()));
        run(&mut fixture, 400, at(Phase::Recovering));
        let log = &fixture.fence.status.log;
        assert!(log.iter().any(|entry| entry.text.contains(recorded)), "{log:?}");
    }
}

/// Its Event says so when the record is deleted.
#[test]
fn who_asked_for_a_record_stands_in_the_log() {
    for (policy, recorded) in
        [("", "the record is opened, asked by eva: its shelf burns;"), ("lost", "the record is opened;")]
    {
        let mut fixture = dead();
        fixture.fence.spec.policy = policy.into();
        fixture.fence.metadata.annotations.insert(ASKED_BY.into(), "eva: its shelf burns".into());
        run(&mut fixture, 400, at(Phase::Isolating));
        let log = &fixture.fence.status.log;
        assert!(log.first().is_some_and(|entry| entry.text.contains(recorded)), "{log:?}");
    }
}

#[test]
fn a_policy_that_leaves_it_off_waits_for_a_person() {
    let mut fixture = dead();
    fixture.fence.spec.steps[1].power_cycle.as_mut().unwrap().leave_off = true;
    run(&mut fixture, 300, |_| false);
    fixture.gathered.pods = Some((fixture.now.moment, Vec::new()));
    run(&mut fixture, 2, |_| false);
    assert_eq!((fixture.phase(), fixture.powered), (Phase::PodsReleased, false));
    assert_eq!(fixture.fence.status.blocked_by[0].reason, "LeftOff");
}

#[test]
fn who_turns_on_what_was_left_off_is_not_cut_off_again() {
    let mut fixture = dead();
    fixture.fence.spec.steps[1].power_cycle.as_mut().unwrap().leave_off = true;
    run(&mut fixture, 300, |_| false);
    let cycles = fixture.fence.status.cycles.len();
    fixture.turn(true);
    fixture.alive = false;
    let mut phases = run(&mut fixture, 100, |_| false);
    assert!(fixture.node.as_ref().unwrap().taint(OUT_OF_SERVICE).is_some(), "{phases:?}");
    fixture.alive = true;
    fixture.predicate = PredicateState::No { since: fixture.now.moment };
    phases.extend(run(&mut fixture, 400, at(Phase::Closed)));
    assert_eq!((fixture.phase(), fixture.fence.status.cycles.len()), (Phase::Closed, cycles), "{phases:?}");
    assert!(!phases.contains(&Phase::PoweringOff), "{phases:?}");
}

/// Off was read, and it took seconds to be written; meanwhile its BMC reported On.
#[test]
fn a_machine_that_was_turned_on_before_off_was_written_is_not_tainted() {
    let mut fixture = dead();
    run(&mut fixture, 400, at(Phase::OffConfirmed));
    fixture.fence.status.off.as_mut().unwrap().at -= Duration::from_secs(2);
    let at = Moment(fixture.now.moment.0 - Duration::from_secs(1));
    // It may have reported Off again since: what was On once was no Off.
    fixture.gathered.power = vec![reading(at, PowerState::On), reading(fixture.now.moment, PowerState::Off)];
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    assert_eq!((fence.status.phase, fence.status.off), (Phase::AwaitGuards, None));
    fixture.gathered.power[0].at = Moment(at.0 - Duration::from_secs(2));
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    assert_eq!(fence.status.phase, Phase::PodsReleased, "On was before Off");
}

#[test]
fn an_out_of_service_taint_that_was_taken_away_is_set_again_before_any_pod_goes() {
    let mut fixture = dead();
    fixture.fence.spec.steps[1].power_cycle.as_mut().unwrap().leave_off = true;
    run(&mut fixture, 400, |fixture| fixture.fence.status.released > 0);
    fixture.node.as_mut().unwrap().taints.clear();
    let mut phases = run(&mut fixture, 3, |_| false);
    assert!(phases.contains(&Phase::OffConfirmed), "{phases:?}");
    phases.extend(run(&mut fixture, 60, at(Phase::PodsReleased)));
    run(&mut fixture, 3, |_| false);
    assert!(fixture.node.unwrap().taint(OUT_OF_SERVICE).is_some(), "{phases:?}");
}

#[test]
fn a_node_that_was_given_up_and_taken_away_closes_the_record() {
    let mut fixture = dead();
    fixture.fence.status.phase = Phase::Quarantined;
    fixture.fence.status.blocked_by = vec![Blocker::new("PowerCycleLimit", "")];
    fixture.node = None;
    run(&mut fixture, 2, |_| false);
    assert_eq!(fixture.phase(), Phase::Closed);
}

#[test]
fn a_node_that_is_gone_closes_the_record_and_a_machine_that_is_off_does_not() {
    let mut fixture = dead();
    run(&mut fixture, 5, |_| false);
    let mut off = dead();
    run(&mut off, 400, at(Phase::OffConfirmed));
    (fixture.node, off.node) = (None, None);
    run(&mut fixture, 2, |_| false);
    run(&mut off, 2, |_| false);
    assert_eq!(fixture.phase(), Phase::Closed);
    assert_eq!((off.phase(), off.fence.status.blocked_by[0].reason.as_str()), (Phase::Quarantined, "NodeGone"));
}

#[test]
fn another_node_of_the_name_is_left_alone() {
    let mut fixture = dead();
    fixture.node.as_mut().unwrap().uid = "uid-2".into();
    run(&mut fixture, 2, |_| false);
    assert_eq!(fixture.phase(), Phase::Closed);
    assert!(!fixture.node.unwrap().unschedulable);
}

/// The kubelet has been silent for some seconds only.
fn awaits_silence(next: &Next) -> bool {
    matches!(next, Next::Wait { blockers, .. } if blockers[0].reason == "NodeReady")
}

#[test]
fn what_a_phase_begins_with_is_written_once_it_has_lasted_for_five_seconds() {
    let mut fixture = dead();
    run(&mut fixture, 10, at(Phase::AwaitGuards));
    fixture.entered = fixture.now.moment;
    assert!(awaits_silence(&fixture.next()), "{:?}", fixture.next());
    fixture.pass(Duration::from_millis(4999));
    assert!(awaits_silence(&fixture.next()), "{:?}", fixture.next());
    fixture.pass(Duration::from_millis(1));
    let Next::Act(Action::Save { why, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    assert_eq!((why.reason.as_str(), why.warning), ("Blocked", true));
}

/// What a person has to mend, and what changes a block that is written, is written at once.
#[test]
fn what_does_not_end_by_itself_is_written_at_once() {
    let mut fixture = dead();
    run(&mut fixture, 10, at(Phase::AwaitGuards));
    fixture.entered = fixture.now.moment;
    fixture.guard_blockers.power = vec![Blocker::new("Storm", "")];
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    fixture.store(*fence);
    fixture.guard_blockers.power.clear();
    assert!(matches!(fixture.next(), Next::Act(Action::Save { .. })), "{:?}", fixture.next());
}

#[test]
fn a_blocker_is_written_once_and_not_again_for_new_numbers() {
    let mut fixture = dead();
    run(&mut fixture, 10, at(Phase::AwaitGuards));
    fixture.pass(Duration::from_secs(5));
    assert!(matches!(fixture.next(), Next::Act(Action::Save { .. })));
    run(&mut fixture, 1, |_| false);
    fixture.pass(Duration::from_secs(3));
    assert!(matches!(fixture.next(), Next::Wait { blockers, .. } if blockers[0].reason == "NodeReady"));
}

#[test]
fn the_numbers_of_a_blocker_are_written_again_once_a_minute_and_not_told() {
    let mut fixture = dead();
    run(&mut fixture, 10, at(Phase::Isolating));
    let recorded = |seconds: u32| vec![Blocker::new("Storm", format!("{seconds} nodes are not well"))];
    fixture.guard_blockers.isolate = recorded(3);
    let Next::Act(Action::Save { fence, why }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    assert_eq!((why.reason.as_str(), why.warning), ("Blocked", true));
    fixture.store(*fence);
    fixture.guard_blockers.isolate = recorded(4);
    fixture.pass(Duration::from_secs(59));
    assert!(matches!(fixture.next(), Next::Wait { .. }), "{:?}", fixture.next());
    fixture.pass(Duration::from_secs(1));
    let Next::Act(Action::Save { fence, why }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    assert_eq!((why.message.as_str(), fence.status.log.len()), ("", fixture.fence.status.log.len()));
    assert!(fence.status.blocked_by[0].message.contains("4 nodes"), "{:?}", fence.status.blocked_by);
    fixture.store(*fence);
    fixture.pass(Duration::from_secs(61));
    assert!(matches!(fixture.next(), Next::Wait { .. }), "the same numbers are not written again");
}

#[test]
fn other_words_of_a_blocker_are_written_soon_for_a_person_is_mending_what_they_say() {
    let mut fixture = dead();
    run(&mut fixture, 10, at(Phase::Isolating));
    fixture.guard_blockers.isolate = vec![Blocker::new("Storm", "the line 3 has a typo")];
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    fixture.store(*fence);
    fixture.guard_blockers.isolate = vec![Blocker::new("Storm", "line 3 is right, and the Secret is missing")];
    fixture.pass(Duration::from_secs(9));
    assert!(matches!(fixture.next(), Next::Wait { .. }), "{:?}", fixture.next());
    fixture.pass(Duration::from_secs(1));
    let Next::Act(Action::Save { fence, why }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    assert!(fence.status.blocked_by[0].message.contains("Secret") && why.message.is_empty(), "{why:?}");
}

#[test]
fn a_policy_that_breaks_while_it_waits_is_told_at_once() {
    let mut fixture = dead();
    fixture.fence.spec.steps = steps(&["cordon"]);
    run(&mut fixture, 10, at(Phase::Waiting));
    (fixture.policy, fixture.predicate) = (None, PredicateState::Unknown);
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    assert_eq!(fence.status.blocked_by[0].reason, "PolicyUnreadable");
    assert_eq!(fence.status.phase, Phase::Waiting);
}

#[test]
fn a_predicate_that_errs_or_is_false_is_no_blocker_while_it_waits_anyway() {
    let mut fixture = dead();
    fixture.fence.spec.steps = steps(&["cordon"]);
    run(&mut fixture, 10, at(Phase::Waiting));
    for predicate in [PredicateState::Unknown, PredicateState::Yes] {
        fixture.predicate = predicate;
        assert!(matches!(fixture.next(), Next::Wait { blockers, .. } if blockers.is_empty()), "{:?}", fixture.next());
    }
}

#[test]
fn a_policy_that_is_true_no_more_says_so_and_speaks_of_no_readiness() {
    let mut fixture = dead();
    run(&mut fixture, 2, |_| false);
    fixture.predicate = PredicateState::No { since: fixture.now.moment };
    fixture.fence.status.own_changes.cordon = false;
    let blockers = super::super::begin::policy_blockers(&fixture.input());
    assert_eq!(blockers.iter().map(|blocker| blocker.reason.as_str()).collect::<Vec<_>>(), ["PredicateFalse"]);
}

#[test]
fn what_was_done_is_told_with_what_comes_next() {
    let mut fixture = dead();
    fixture.fence.spec.steps = steps(&["cordon", "drain", "power"]);
    let applied = |fixture: &Fixture, op: &Op, done| {
        crate::fence::apply_outcome(&fixture.fence, op, &Ok(done), fixture.epoch, fixture.now)
    };
    run(&mut fixture, 10, at(Phase::Isolating));
    let (fence, recorded) = applied(&fixture, &Op::Reversible(ReversibleOp::Cordon), Done::Yes);
    assert_eq!(recorded.reason, "Cordoned");
    let message = &recorded.message;
    assert!(message.starts_with("the Node is cordoned until it is healthy again; `kubectl cordon`"), "{message}");
    assert!(message.contains("annotate it with nodewell.dev/skip-remediation"), "{message}");
    assert!(message.ends_with("; the step ended; next is step 2: drain"), "{message}");
    fixture.store(fence);
    fixture.fence.status.drain_begun_at = Some(fixture.now.wall);
    let report =
        DrainReport { done: false, refused_evictions: vec!["shop/db-0: PodDisruptionBudget db".into()], left: 0 };
    let rules = match fixture.next() {
        Next::Act(Action::Perform { op: Op::Reversible(ReversibleOp::Drain(rules)), .. }) => rules,
        other => panic!("{other:?}"),
    };
    let (_, recorded) = applied(&fixture, &Op::Reversible(ReversibleOp::Drain(rules)), Done::Drain(report));
    assert_eq!((recorded.reason.as_str(), recorded.warning), ("EvictionsRefused", true));
    assert_eq!(
        recorded.message,
        "the drain ended with pods left: shop/db-0: PodDisruptionBudget db; the step ended; next is step 3: powerCycle"
    );
}

#[test]
fn a_taint_that_was_there_before_is_not_ours_to_take() {
    let mut fixture = Fixture::new(steps(&["taint", "cordon"]));
    let Next::Act(Action::Save { .. }) = fixture.next() else { panic!() };
    let taint = crate::facts::Taint {
        key: crate::api::REMEDIATION_TAINT.into(),
        value: String::new(),
        effect: crate::facts::Effect::NoSchedule,
    };
    fixture.node.as_mut().unwrap().taints.push(taint);
    run(&mut fixture, 10, at(Phase::Waiting));
    fixture.predicate = PredicateState::No { since: fixture.now.moment };
    run(&mut fixture, 60, at(Phase::Closed));
    let node = fixture.node.unwrap();
    assert_eq!((node.taints.len(), node.unschedulable), (1, false));
}

/// Cordoned, and then well; the record forgot the cordon, as one does that was opened again.
fn cordoned_and_forgotten() -> Fixture {
    let mut fixture = Fixture::new(steps(&["cordon"]));
    run(&mut fixture, 10, at(Phase::Waiting));
    fixture.fence.status.own_changes.cordon = false;
    fixture.predicate = PredicateState::No { since: fixture.now.moment };
    fixture
}

fn is_marked(fixture: &Fixture) -> bool {
    fixture.node.as_ref().unwrap().annotations.contains_key(crate::api::CORDONED_BY)
}

#[test]
fn the_mark_that_a_person_left_when_they_uncordoned_goes() {
    let mut fixture = cordoned_and_forgotten();
    fixture.node.as_mut().unwrap().unschedulable = false;
    run(&mut fixture, 60, at(Phase::Closed));
    assert_eq!((fixture.phase(), is_marked(&fixture)), (Phase::Closed, false));
}

#[test]
fn a_cordon_that_a_person_repeated_stays_and_the_record_ends() {
    let mut fixture = cordoned_and_forgotten();
    fixture.cordoned_by_hand = true;
    run(&mut fixture, 60, at(Phase::Closed));
    assert_eq!((fixture.phase(), is_marked(&fixture)), (Phase::Closed, false));
    assert!(fixture.node.unwrap().unschedulable);
}

#[test]
fn a_record_deleted_by_hand_leaves_a_node_that_the_next_record_brings_back() {
    let mut fixture = dead();
    run(&mut fixture, 400, |fixture| fixture.phase() == Phase::PodsReleased);
    fixture.fence = Fixture::new(steps(&["cordon", "power"])).fence;
    fixture.entered = fixture.now.moment;
    run(&mut fixture, 400, at(Phase::AwaitReady));
    fixture.predicate = PredicateState::No { since: fixture.now.moment };
    run(&mut fixture, 400, at(Phase::Closed));
    let node = fixture.node.as_ref().unwrap();
    assert!(
        fixture.phase() == Phase::Closed && node.taints.is_empty() && !node.unschedulable,
        "{:?}",
        fixture.fence.status
    );
}

#[test]
fn a_drain_ends_at_its_total_time_under_any_leader() {
    let mut fixture = Fixture::new(steps(&["cordon", "drain", "reboot"]));
    run(&mut fixture, 5, |fixture| fixture.fence.status.drain_begun_at.is_some());
    fixture.pass(Duration::from_secs(200));
    fixture.entered = fixture.now.moment;
    let Next::Act(Action::Perform { op: Op::Reversible(ReversibleOp::Drain(rules)), .. }) = fixture.next() else {
        panic!()
    };
    assert_eq!(rules.timeout, Duration::from_secs(400));
    fixture.pass(Duration::from_secs(400));
    run(&mut fixture, 2, |_| false);
    assert!(!fixture.fence.status.drain.as_ref().unwrap().done);
    assert_eq!(fixture.fence.status.blocked_by[0].reason, "DrainFailed");
}

#[test]
fn an_aborted_record_stays_until_the_node_is_well_or_a_person_deletes_it() {
    let mut fixture = dead();
    run(&mut fixture, 5, |_| false);
    fixture.fence.spec.abort = true;
    run(&mut fixture, 400, at(Phase::Closed));
    assert!(!run(&mut fixture, 30, |_| false).contains(&Phase::PoweringOff));
    assert_eq!(fixture.fence.status.blocked_by[0].reason, "Aborted");
    assert!(matches!(fixture.next(), Next::Wait { .. }), "closed, it would be opened again at once");
    fixture.predicate = PredicateState::No { since: fixture.now.moment };
    fixture.now.moment = fixture.now.moment.plus(Duration::from_secs(3600));
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    assert!(fence.status.blocked_by.is_empty(), "what is deleted after that is deleted by no person");
    fixture.store(*fence);
    assert!(matches!(fixture.next(), Next::Act(Action::Close { .. })));
}
