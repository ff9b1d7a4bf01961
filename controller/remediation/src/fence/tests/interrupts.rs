//! What ends a fence or takes it back, wherever it stands, by the edges of what each of these asks for.

use std::time::Duration;

use super::{fixture::Fixture, parts::steps};
use crate::{
    action::Action,
    api::fence::{Confirmation, IntendedOp, Intent, Phase},
    facts::{Effect, Taint},
    fence::{NewBoot, Next, PredicateState, begin::has},
    time::Moment,
};

fn confirmation(fixture: &Fixture) -> Confirmation {
    Confirmation {
        at: fixture.now.wall,
        reads: 2,
        by: Vec::new(),
        boot_id: "boot-1".into(),
        already_off: false,
        epoch: 7,
    }
}

pub(super) fn in_phase(phase: Phase) -> Fixture {
    let mut fixture = Fixture::new(steps(&["cordon", "power"]));
    fixture.fence.status.phase = phase;
    fixture.fence.status.lease_renewed = fixture.kubelet.as_ref().and_then(|lease| lease.renewed);
    fixture
}

fn intended(fixture: &mut Fixture, op: IntendedOp, ago: u64) {
    let at = fixture.now.wall - Duration::from_secs(ago);
    fixture.fence.status.intent = Some(Intent { op, epoch: 7, at, pods: 1 });
}

pub(super) fn next_phase(fixture: &Fixture) -> Option<Phase> {
    match fixture.next() {
        Next::Act(Action::Save { fence, .. }) => Some(fence.status.phase),
        Next::Act(Action::Perform { .. } | Action::Open(_) | Action::Close { .. }) | Next::Wait { .. } => None,
    }
}

/// Whatever stands in the record, an act is begun in its own phase alone: else it is unknown whether it was begun.
#[test]
fn an_intent_is_acted_upon_in_the_phase_of_its_act_and_is_in_doubt_in_any_other() {
    use IntendedOp::{PowerOff, PowerOn, Reap, Release};
    let phases = [
        (PowerOff, Phase::PoweringOff),
        (PowerOn, Phase::PoweringOn),
        (Release, Phase::PodsReleased),
        (Reap, Phase::Reaping),
    ];
    for op in [PowerOff, PowerOn, Release, Reap] {
        for (of, phase) in phases {
            let mut fixture = in_phase(phase);
            intended(&mut fixture, op, 0);
            let found = match fixture.next() {
                Next::Act(Action::Save { fence, why }) => (fence.status.phase == Phase::InDoubt).then_some(why.message),
                _ => None,
            };
            let is_old = found.is_some_and(|message| message.contains(&format!("{op:?} was intended by epoch 7")));
            assert_eq!(is_old, op != of, "{op:?} {phase:?}");
        }
    }
}

/// A machine that was cut off by an act under way is asked after; one that is off is turned on.
#[test]
fn an_abort_turns_on_what_is_off_and_asks_after_what_was_begun() {
    for (phase, op, expected) in [
        (Phase::PoweringOff, Some(IntendedOp::PowerOff), Phase::InDoubt),
        (Phase::Reaping, Some(IntendedOp::Reap), Phase::InDoubt),
        (Phase::OffConfirmed, None, Phase::PoweringOn),
        (Phase::PodsReleased, None, Phase::PoweringOn),
        (Phase::PodsReleased, Some(IntendedOp::Release), Phase::InDoubt),
        (Phase::AwaitGuards, None, Phase::Recovering),
        (Phase::KdumpWait, None, Phase::Recovering),
        (Phase::Failed, None, Phase::Recovering),
        (Phase::Draining, None, Phase::Recovering),
        (Phase::Waiting, None, Phase::Recovering),
    ] {
        let mut fixture = in_phase(phase);
        fixture.fence.spec.abort = true;
        if matches!(phase, Phase::OffConfirmed | Phase::PodsReleased) {
            fixture.fence.status.off = Some(confirmation(&fixture));
        }
        if let Some(op) = op {
            intended(&mut fixture, op, 0);
        }
        let Next::Act(Action::Save { fence, why }) = fixture.next() else { panic!("{:?}", fixture.next()) };
        assert_eq!(fence.status.phase, expected, "{phase:?} {op:?}");
        assert!(why.message.contains("abort"), "{phase:?}: {}", why.message);
    }
}

/// A renewal in the instant in which the phase was entered may be of before it, and one that is as old as two of its
/// intervals shows no kubelet that lives.
#[test]
fn a_boot_has_come_up_when_its_lease_was_renewed_since_and_is_still() {
    for (renewed_after, age, is_back) in [(0, 1, false), (1, 0, true), (1, 19, true), (1, 20, false)] {
        let mut fixture = in_phase(Phase::PoweringOn);
        fixture.fence.status.off = Some(confirmation(&fixture));
        fixture.node.as_mut().unwrap().boot_id = "boot-2".into();
        let lease = fixture.kubelet.as_mut().unwrap();
        lease.change_seen_at = fixture.entered.plus(Duration::from_secs(renewed_after));
        fixture.now.moment = lease.change_seen_at.plus(Duration::from_secs(age));
        assert_eq!(next_phase(&fixture) == Some(Phase::Recovering), is_back, "{renewed_after} {age}");
    }
}

/// Nothing else may change until then.
#[test]
fn a_node_that_is_well_is_looked_at_again_when_it_has_been_so_for_long_enough() {
    let mut fixture = in_phase(Phase::Quarantined);
    let until = |fixture: &Fixture| match fixture.next() {
        Next::Wait { until, .. } => until,
        other => panic!("{other:?}"),
    };
    assert_eq!(until(&fixture), None);
    fixture.now.moment = fixture.now.moment.plus(Duration::from_secs(10));
    let since = |ago| PredicateState::No { since: Moment(fixture.now.moment.0 - Duration::from_secs(ago)) };
    let tables = [(since(10), Some(20)), (since(29), Some(1)), (since(30), None), (PredicateState::Unknown, None)];
    for (predicate, left) in tables {
        fixture.predicate = predicate;
        let left = left.map(|left| fixture.now.moment.plus(Duration::from_secs(left)));
        assert_eq!(until(&fixture), left, "{predicate:?}");
    }
}

/// Its renewal of the very moment in which the act began may be of the boot that is to end.
#[test]
fn a_new_boot_is_watched_from_after_the_act_began() {
    let mut fixture = in_phase(Phase::PoweringOff);
    fixture.fence.status.boot_id = "boot-1".into();
    fixture.node.as_mut().unwrap().boot_id = "boot-2".into();
    let began = fixture.now.moment;
    let mut boot = NewBoot::watched_from(began);
    let mut is_alive = |renewed: u64| {
        let lease = fixture.kubelet.as_mut().unwrap();
        lease.change_seen_at = began.plus(Duration::from_secs(renewed));
        boot.is_alive(&fixture.fence, fixture.node.as_ref(), fixture.kubelet.as_ref())
    };
    assert_eq!([0, 8, 15, 16].map(&mut is_alive), [false, false, false, true]);
}

/// Kubernetes knows a taint by its key and its effect.
#[test]
fn a_taint_of_another_effect_or_key_is_another_taint() {
    let taint = |key: &str, effect| Taint { key: key.into(), value: String::new(), effect };
    let all = [taint("a", Effect::NoSchedule)];
    assert!(has(&all, &Taint { value: "v".into(), ..taint("a", Effect::NoSchedule) }));
    assert!(!has(&all, &taint("a", Effect::NoExecute)) && !has(&all, &taint("b", Effect::NoSchedule)));
}
