//! Between Off and the release of the pods.

use std::time::Duration;

use jiff::SignedDuration;

use super::{
    course::{at, dead, run},
    fixture::Fixture,
    parts::pod,
};
use crate::{
    action::{Action, IrreversibleOp, Op},
    api::fence::{DrainReport, Phase},
    facts::{ConditionStatus, Deletion, Owner, Pod, Toleration},
    fence::{
        Next,
        release::{is_deleted_by_release, is_read_on, is_to_be_released},
    },
    time::Moment,
};

#[test]
fn a_machine_that_is_off_when_its_policy_is_gone_is_turned_on_and_nothing_is_released() {
    let mut fixture = dead();
    run(&mut fixture, 400, at(Phase::OffConfirmed));
    fixture.policy = None;
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    assert_eq!(fence.status.phase, Phase::PoweringOn);
    run(&mut fixture, 400, at(Phase::AwaitReady));
    assert!(fixture.powered && fixture.fence.status.released == 0, "{:?}", fixture.fence.status);
}

#[test]
fn a_release_that_was_intended_is_not_begun_when_its_policy_is_gone() {
    let mut fixture = dead();
    run(&mut fixture, 400, at(Phase::PodsReleased));
    assert!(fixture.fence.status.intent.is_some(), "{:?}", fixture.fence.status);
    let is_release = |next: &Next| matches!(next, Next::Act(Action::Perform { op: Op::Irreversible(_), .. }));
    assert!(is_release(&fixture.next()), "{:?}", fixture.next());
    fixture.policy = None;
    assert_eq!(next_phase(&fixture), Phase::InDoubt);
    run(&mut fixture, 400, at(Phase::AwaitReady));
    assert!(fixture.powered && fixture.fence.status.released == 0, "{:?}", fixture.fence.status);
}

/// Its pods were released, and one is there all the same: the answers to some deletions were lost.
fn released_and_one_is_left() -> Fixture {
    let mut fixture = dead();
    run(&mut fixture, 400, at(Phase::PoweringOn));
    (fixture.fence.status.phase, fixture.entered) = (Phase::PodsReleased, fixture.now.moment);
    assert!(fixture.fence.status.out_of_service, "{:?}", fixture.fence.status);
    fixture.gathered.pods = Some((fixture.now.moment, vec![pod("left")]));
    fixture
}

fn next_phase(fixture: &Fixture) -> Phase {
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    fence.status.phase
}

#[test]
fn a_pod_that_is_left_is_released_before_the_machine_is_turned_on() {
    let mut fixture = released_and_one_is_left();
    assert_eq!(next_phase(&fixture), Phase::OffConfirmed);
    fixture.gathered.pods = Some((fixture.now.moment, Vec::new()));
    assert_eq!(next_phase(&fixture), Phase::PoweringOn);
    let mut fixture = released_and_one_is_left();
    fixture.policy = None;
    assert_eq!(next_phase(&fixture), Phase::PoweringOn, "without a policy nothing more is released");
}

#[test]
fn on_that_was_answered_in_the_instant_of_the_confirmation_voids_it() {
    let mut fixture = dead();
    run(&mut fixture, 400, at(Phase::OffConfirmed));
    fixture.gathered.power.clear();
    fixture.entered = fixture.now.moment;
    fixture.fence.status.off.as_mut().unwrap().at = fixture.now.wall - SignedDuration::from_secs(3);
    for (ago, expected) in [(2, true), (3, true), (4, false)] {
        fixture.gathered.last_on_answer = Some(Moment(fixture.now.moment.0 - Duration::from_secs(ago)));
        assert_eq!(is_read_on(&fixture.input()), expected, "On was answered {ago} s ago");
    }
}

/// Its kubelet may have renewed it since: nothing shows that it did not.
#[test]
fn pods_are_not_released_without_the_lease_whose_silence_was_the_evidence() {
    type Change = fn(&mut Fixture);
    let cases: [(&str, Change, Option<&str>); 5] = [
        ("it is there", |_| {}, None),
        ("it is gone", |fixture| fixture.kubelet = None, Some("LeaseMissing")),
        (
            "it is gone, and its Node reports Ready",
            |fixture| {
                fixture.kubelet = None;
                fixture.node.as_mut().unwrap().conditions[0].status = ConditionStatus::True;
            },
            Some("NodeReady"),
        ),
        ("there was none", |fixture| (fixture.kubelet, fixture.fence.status.lease_renewed) = (None, None), None),
        (
            "a drain left nothing",
            |fixture| {
                fixture.kubelet = None;
                fixture.fence.status.drain = Some(DrainReport { done: true, ..DrainReport::default() });
                fixture.gathered.pods = Some((fixture.now.moment, Vec::new()));
            },
            None,
        ),
    ];
    let mut confirmed = dead();
    run(&mut confirmed, 400, |fixture| is_release_intended(&fixture.next()));
    let mut intended = confirmed.clone();
    run(&mut intended, 400, at(Phase::PodsReleased));
    for (case, change, reason) in cases {
        for (fixture, blocked) in [(&confirmed, Phase::OffConfirmed), (&intended, Phase::InDoubt)] {
            let mut fixture = fixture.clone();
            change(&mut fixture);
            let next = fixture.next();
            let Some(reason) = reason else {
                assert!(is_release_intended(&next) || is_release(&next), "{case}: {next:?}");
                continue;
            };
            let (phase, blockers) = fixture.blocked();
            assert_eq!(phase, blocked, "{case}");
            let is_named = blockers.iter().any(|blocker| blocker.reason == reason);
            assert!(blocked == Phase::InDoubt || is_named, "{blockers:?}");
        }
    }
}

fn is_release_intended(next: &Next) -> bool {
    matches!(next, Next::Act(Action::Save { fence, .. }) if fence.status.phase == Phase::PodsReleased)
}

fn is_release(next: &Next) -> bool {
    let Next::Act(Action::Perform { op, .. }) = next else { return false };
    matches!(op, Op::Irreversible(IrreversibleOp::Release { .. }))
}

/// It tolerates every taint for ever, as an operator of storage does.
fn tolerant(pod: Pod) -> Pod {
    let all = Toleration { key: String::new(), value: String::new(), exists: true, effect: None, seconds: None };
    Pod { tolerations: vec![all], ..pod }
}

fn daemon(pod: Pod) -> Pod {
    let owner = Owner { kind: "DaemonSet".into(), name: "agent".into(), uid: "uid-agent".into(), gone: false };
    Pod { owner: Some(owner), ..pod }
}

#[test]
fn what_a_release_ends_is_what_the_taint_evicts_and_what_the_controller_deletes() {
    let tables = [
        (pod("plain"), true, true),
        (tolerant(pod("tolerant")), true, true),
        (daemon(pod("daemon")), true, false),
        (tolerant(daemon(pod("everywhere"))), false, false),
    ];
    for (pod, by_power, by_storage) in tables {
        assert_eq!(is_deleted_by_release(&pod, None), by_power, "{pod:?}");
        let uses_only = pod.uses_only_storage("csi.example");
        assert_eq!(is_deleted_by_release(&pod, Some("csi.example")), by_storage && uses_only, "{pod:?}");
    }
}

#[test]
fn a_pod_that_only_waits_for_its_finalizers_is_left_to_them() {
    let fixture = dead();
    let deletion = |secs| Some(Deletion { at: fixture.now.wall, grace: Duration::from_secs(secs) });
    for (finalizers, deleting, expected) in
        [(true, None, true), (false, deletion(0), true), (true, deletion(30), true), (true, deletion(0), false)]
    {
        let pod = Pod { finalizers, deleting, ..pod("held") };
        assert_eq!(is_to_be_released(&pod, None), expected, "{pod:?}");
    }
}

#[test]
fn all_that_the_release_ends_is_counted_before_it() {
    let mut fixture = dead();
    let mut elsewhere = pod("elsewhere");
    elsewhere.node = "worker-2".into();
    let all = [pod("one"), tolerant(pod("two")), daemon(pod("three")), tolerant(daemon(pod("stays"))), elsewhere];
    fixture.listed = Some(all.into());
    run(&mut fixture, 400, at(Phase::PodsReleased));
    assert_eq!(fixture.fence.status.intent.as_ref().map(|intent| intent.pods), Some(3));
}
