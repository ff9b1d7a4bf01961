//! Power on again, and what comes after it: what keeps a machine off, when it has come back, and what is done when it does
//! not.

use std::time::Duration;

use super::{
    fixture::Fixture,
    parts::{pod, reading, span, steps},
};
use crate::{
    action::{Action, IrreversibleOp, Op},
    api::{
        STORAGE_RELEASED,
        fence::{Blocker, Confirmation, IntendedOp, Intent, NodeFence, Phase},
    },
    facts::ConditionStatus,
    fence::{Next, must_stay_cut_off},
    guard::reason::KILL_SWITCH,
    snapshot::PowerState,
    time::Moment,
};

/// It was turned off as `boot-1`, and is silent since.
fn off(phase: Phase) -> Fixture {
    let mut fixture = Fixture::new(steps(&["power"]));
    let off = Confirmation {
        at: fixture.now.wall,
        reads: 2,
        by: Vec::new(),
        boot_id: "boot-1".into(),
        already_off: false,
        epoch: 7,
    };
    (fixture.fence.status.phase, fixture.fence.status.off) = (phase, Some(off));
    fixture.fence.status.boot_id = "boot-1".into();
    fixture.fence.status.lease_renewed = fixture.kubelet.as_ref().and_then(|lease| lease.renewed);
    fixture.node.as_mut().unwrap().conditions[0].status = ConditionStatus::Unknown;
    fixture
}

fn later(fixture: &mut Fixture, secs: u64) {
    fixture.now.moment = fixture.now.moment.plus(Duration::from_secs(secs));
    fixture.now.wall += Duration::from_secs(secs);
}

fn saved(fixture: &Fixture) -> NodeFence {
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    *fence
}

fn is_intended(fixture: &Fixture) -> bool {
    match fixture.next() {
        Next::Act(Action::Save { fence, .. }) => {
            fence.status.intent.is_some_and(|intent| intent.op == IntendedOp::PowerOn)
        }
        _ => false,
    }
}

fn blockers(fixture: &Fixture) -> Vec<String> {
    fixture.blocked().1.into_iter().map(|blocker| blocker.reason).collect()
}

#[test]
fn a_power_on_that_was_intended_is_begun_only_if_nothing_forbids_it_by_then() {
    let mut fixture = off(Phase::PoweringOn);
    fixture.fence.status.intent = Some(Intent { op: IntendedOp::PowerOn, epoch: 7, at: fixture.now.wall, pods: 0 });
    let is_on =
        |next: &Next| matches!(next, Next::Act(Action::Perform { op: Op::Irreversible(IrreversibleOp::PowerOn), .. }));
    assert!(is_on(&fixture.next()), "{:?}", fixture.next());
    fixture.guard_blockers.power = vec![Blocker::new(KILL_SWITCH, "")];
    assert_eq!(saved(&fixture).status.phase, Phase::InDoubt);
    fixture.guard_blockers.power.clear();
    fixture.gathered.methods = None;
    assert_eq!(saved(&fixture).status.phase, Phase::InDoubt);
}

#[test]
fn everything_that_keeps_a_machine_off_is_named() {
    let mut fixture = off(Phase::PoweringOn);
    fixture.gathered.methods = None;
    assert_eq!(blockers(&fixture), ["FenceNotReady"]);
    fixture.guard_blockers.power = vec![Blocker::new(KILL_SWITCH, ""), Blocker::new("Storm", "")];
    assert_eq!(blockers(&fixture), [KILL_SWITCH, "FenceNotReady"]);
}

/// One reading from after the phase began: what was read before may be of before the power was cut.
#[test]
fn a_machine_that_reads_on_by_itself_gets_no_order() {
    for (after, state, is_on) in [(1, PowerState::On, true), (0, PowerState::On, false), (1, PowerState::Off, false)] {
        let mut fixture = off(Phase::PoweringOn);
        fixture.gathered.power = vec![reading(fixture.entered.plus(Duration::from_secs(after)), state)];
        later(&mut fixture, 2);
        let expected = if is_on { Phase::AwaitReady } else { Phase::PoweringOn };
        assert_eq!(saved(&fixture).status.phase, expected, "{after} {state:?}");
        assert_eq!(is_intended(&fixture), !is_on, "{after} {state:?}");
    }
}

/// Those that are gone were let go, whichever actor did it: their successors may write elsewhere by now.
#[test]
fn storage_is_restored_to_the_same_boot_while_all_its_pods_are_there() {
    let uids = |names: &[&str]| names.iter().map(|name| format!("uid-{name}")).collect::<Vec<_>>();
    for (there, expected) in [
        (Some(&["db", "web", "other"][..]), None),
        (Some(&["db", "other"]), Some("LeftCut")),
        (Some(&[]), Some("LeftCut")),
        (None, Some("PodsUnknown")),
    ] {
        let mut fixture = off(Phase::PoweringOn);
        let plan = fixture.gathered.methods.as_mut().unwrap().as_mut().unwrap();
        plan.storage_only = Some("san".into());
        fixture.fence.status.storage_only = Some("san".into());
        fixture.fence.status.storage_pods = uids(&["db", "web"]);
        let now = fixture.now.moment;
        fixture.gathered.pods = there.map(|there| (now, there.iter().map(|name| pod(name)).collect()));
        match expected {
            None => assert!(is_intended(&fixture), "{there:?}: {:?}", fixture.next()),
            Some(reason) => assert_eq!(blockers(&fixture), [reason], "{there:?}"),
        }
    }
}

#[test]
fn storage_that_another_actor_gives_back_to_the_boot_whose_pods_were_released_is_reported() {
    for (after, state, text) in
        [(1, PowerState::On, "reads On again"), (1, PowerState::Off, "is cut off"), (0, PowerState::On, "is cut off")]
    {
        let mut fixture = off(Phase::PoweringOn);
        fixture.gathered.methods.as_mut().unwrap().as_mut().unwrap().storage_only = Some("san".into());
        fixture.fence.status.storage_only = Some("san".into());
        fixture.fence.status.release_begun = true;
        fixture.gathered.power = vec![reading(fixture.entered.plus(Duration::from_secs(after)), state)];
        fixture.gathered.pods = Some((fixture.now.moment, Vec::new()));
        later(&mut fixture, 2);
        let blocker = &saved(&fixture).status.blocked_by[0];
        assert!(blocker.reason == "LeftCut" && blocker.message.contains(text), "{after} {state:?} {blocker}");
    }
}

#[test]
fn what_the_record_or_the_node_knows_of_a_release_keeps_the_storage_cut_off() {
    let different = [("boot-1", false), ("boot-2", true), ("", false)];
    for (named, is_another) in different {
        for (by_record, by_node) in [(true, false), (false, true), (true, true), (false, false)] {
            let mut fixture = off(Phase::PoweringOn);
            fixture.fence.status.release_begun = by_record;
            let node = fixture.node.as_mut().unwrap();
            node.boot_id = named.into();
            if by_node {
                node.annotations.insert(STORAGE_RELEASED.into(), "boot-1".into());
            }
            let stays = must_stay_cut_off(&fixture.fence, fixture.node.as_ref().unwrap());
            assert_eq!(stays, !is_another && (by_record || by_node), "{named:?} {by_record} {by_node}");
        }
    }
}

/// Its boot shows that a machine was off; what was only cut off its storage may be the same boot, and only has to live.
#[test]
fn a_machine_is_back_with_another_boot_and_a_storage_with_a_kubelet_that_lives() {
    for (storage, boot, ready, age, is_back) in [
        (None, "boot-2", true, 1, true),
        (None, "boot-1", true, 1, false),
        (None, "boot-2", false, 1, false),
        (Some("san"), "boot-1", true, 1, true),
        (Some("san"), "boot-1", true, 19, true),
        (Some("san"), "boot-1", true, 20, false),
        (Some("san"), "boot-1", false, 1, false),
    ] {
        let mut fixture = off(Phase::AwaitReady);
        fixture.fence.status.storage_only = storage.map(str::to_owned);
        fixture.gathered.methods.as_mut().unwrap().as_mut().unwrap().storage_only = storage.map(str::to_owned);
        let node = fixture.node.as_mut().unwrap();
        node.boot_id = boot.into();
        node.conditions[0].status = if ready { ConditionStatus::True } else { ConditionStatus::False };
        later(&mut fixture, 30);
        fixture.kubelet.as_mut().unwrap().change_seen_at = Moment(fixture.now.moment.0 - Duration::from_secs(age));
        let is_recovering =
            matches!(fixture.next(), Next::Act(Action::Save { fence, .. }) if fence.status.phase == Phase::Recovering);
        assert_eq!(is_recovering, is_back, "{storage:?} {boot} {ready} {age}: {:?}", fixture.next());
    }
}

/// Not Ready for `secs` since it was turned on.
fn never_ready(kinds: &[&str], secs: u64, change: impl Fn(&mut NodeFence)) -> Fixture {
    let mut fixture = off(Phase::AwaitReady);
    fixture.fence.spec.steps = steps(kinds);
    fixture.fence.status.out_of_service = true;
    change(&mut fixture.fence);
    later(&mut fixture, secs);
    fixture
}

#[test]
fn a_machine_has_the_time_of_its_step_to_become_ready() {
    let waits = |fixture: &Fixture| matches!(fixture.next(), Next::Wait { .. });
    for (timeout, secs, expected) in
        [(None, 599, true), (None, 600, false), (Some("1m"), 59, true), (Some("1m"), 60, false)]
    {
        let fixture = never_ready(&["power"], secs, |fence| {
            fence.spec.steps[0].power_cycle.as_mut().unwrap().ready_timeout = timeout.and_then(span);
        });
        assert_eq!(waits(&fixture), expected, "{timeout:?} {secs}: {:?}", fixture.next());
    }
}

#[test]
fn a_machine_that_does_not_become_ready_has_its_next_step_or_the_same_one_five_times() {
    let status = saved(&never_ready(&["power", "reap"], 600, |_| {})).status;
    assert_eq!(
        (status.phase, status.policy_step, status.off, status.out_of_service),
        (Phase::AwaitGuards, 1, None, false)
    );
    let second = never_ready(&["cordon", "power", "reap"], 600, |fence| fence.status.policy_step = 1);
    assert_eq!(saved(&second).status.policy_step, 2);
    for rounds in [0, 4] {
        let status = saved(&never_ready(&["power"], 600, |fence| fence.status.step_rounds = rounds)).status;
        assert_eq!((status.phase, status.step_rounds, status.failures), (Phase::Failed, rounds + 1, 1));
        assert_eq!((status.off, status.out_of_service), (None, false), "it is asked again before it is cut again");
    }
    let status = saved(&never_ready(&["power"], 600, |fence| fence.status.step_rounds = 5)).status;
    assert_eq!((status.phase, status.blocked_by[0].reason.as_str()), (Phase::Quarantined, "NeverReady"));
    let aborted = saved(&never_ready(&["power", "reap"], 600, |fence| fence.spec.abort = true)).status;
    assert_eq!((aborted.phase, aborted.blocked_by[0].reason.as_str()), (Phase::AwaitReady, "NeverReady"));
}
