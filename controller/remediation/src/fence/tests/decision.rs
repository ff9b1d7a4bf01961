//! What is decided of a node's power while its record waits for the guards: each thing that forbids an act forbids it
//! alone, whatever the evidence is.

use std::time::Duration;

use super::{
    fixture::Fixture,
    parts::{level, plan, reading, steps},
};
use crate::{
    action::Action,
    api::fence::{Blocker, DrainReport, IntendedOp, Intent, Phase},
    facts::ConditionStatus,
    fence::{Next, power::methods_changed},
    snapshot::{FencePlan, Level, PowerState},
    time::Moment,
};

/// Silent for a minute, and not Ready for as long as that takes.
fn silent(step: &str) -> Fixture {
    let mut fixture = Fixture::new(steps(&[step]));
    fixture.fence.status.phase = Phase::AwaitGuards;
    fixture.now.moment = fixture.now.moment.plus(Duration::from_secs(60));
    fixture.node.as_mut().unwrap().conditions[0].status = ConditionStatus::Unknown;
    fixture.entered = fixture.now.moment;
    fixture.gathered.pods = Some((fixture.now.moment, Vec::new()));
    fixture
}

/// Its drain left nothing, and no pod comes there.
fn drained(step: &str) -> Fixture {
    let mut fixture = Fixture::new(steps(&[step]));
    fixture.fence.status.phase = Phase::AwaitGuards;
    fixture.fence.status.drain = Some(emptied());
    fixture.node.as_mut().unwrap().unschedulable = true;
    fixture.gathered.pods = Some((fixture.now.moment, Vec::new()));
    fixture
}

fn emptied() -> DrainReport {
    DrainReport { done: true, refused_evictions: Vec::new(), left: 0 }
}

fn reads_off(fixture: &mut Fixture) {
    let ago = |secs| Moment(fixture.now.moment.0 - Duration::from_secs(secs));
    fixture.gathered.power = vec![reading(ago(3), PowerState::Off), reading(ago(1), PowerState::Off)];
}

/// Where the record goes next, and what blocks it if it stays.
fn next(fixture: &Fixture) -> (Phase, Vec<String>) {
    let (phase, blockers) = fixture.blocked();
    (phase, blockers.into_iter().map(|blocker| blocker.reason).collect())
}

fn blocked(reason: &str) -> (Phase, Vec<String>) {
    (Phase::AwaitGuards, vec![reason.to_owned()])
}

/// The drain before the step is begun again after a pause.
fn blocked_after(drain: Option<&DrainReport>) -> (Phase, Vec<String>) {
    let (phase, mut reasons) = blocked("DrainFailed");
    reasons.extend(drain.map(|_| "DrainIncomplete".to_owned()));
    (phase, reasons)
}

fn begins(phase: Phase) -> (Phase, Vec<String>) {
    (phase, Vec::new())
}

/// Without a Lease nothing shows whether that boot lives on; of another boot, or with a Lease, the usual evidence decides.
#[test]
fn a_boot_whose_pods_were_released_is_not_cut_again_while_it_cannot_be_heard() {
    for (released, named, is_heard, is_blocked) in [
        ("boot-1", "boot-1", false, true),
        ("boot-1", "boot-2", false, false),
        ("", "boot-1", false, false),
        ("", "", false, false),
        ("boot-1", "boot-1", true, false),
    ] {
        let mut fixture = drained("power");
        fixture.fence.status.released_boot = released.into();
        fixture.node.as_mut().unwrap().boot_id = named.into();
        if !is_heard {
            fixture.kubelet = None;
        }
        let expected = if is_blocked { blocked("WithinGracePeriod") } else { begins(Phase::PoweringOff) };
        assert_eq!(next(&fixture), expected, "{released:?} {named:?} {is_heard}");
    }
}

#[test]
fn a_reboot_is_not_begun_before_a_drain_that_left_nothing_whatever_the_evidence() {
    let failed = DrainReport { done: false, ..emptied() };
    let left = DrainReport { left: 1, ..emptied() };
    for drain in [None, Some(failed), Some(left)] {
        let mut fixture = silent("reboot");
        fixture.fence.status.drain = drain;
        let expected = blocked_after(fixture.fence.status.drain.as_ref());
        assert_eq!(next(&fixture), expected, "silent: {:?}", fixture.fence.status.drain);
        reads_off(&mut fixture);
        assert_eq!(next(&fixture), expected, "off: {:?}", fixture.fence.status.drain);
    }
    let mut fixture = drained("reboot");
    assert_eq!(next(&fixture), begins(Phase::PoweringOff));
    fixture = silent("reboot");
    fixture.fence.status.drain = Some(emptied());
    reads_off(&mut fixture);
    assert_eq!(next(&fixture), begins(Phase::OffConfirmed));
}

#[test]
fn a_machine_is_replaced_after_a_drain_that_left_nothing_or_after_any_where_its_step_has_it_so() {
    let failed = || Some(DrainReport { done: false, ..emptied() });
    for (drain, even_if_drain_failed, is_begun) in
        [(None, true, false), (failed(), false, false), (failed(), true, true), (Some(emptied()), false, true)]
    {
        let mut fixture = silent("reap");
        fixture.fence.spec.steps[0].reap.as_mut().unwrap().even_if_drain_failed = even_if_drain_failed;
        let failed_before = drain.clone().filter(|_| !even_if_drain_failed);
        fixture.fence.status.drain = drain;
        let expected = if is_begun { begins(Phase::Reaping) } else { blocked_after(failed_before.as_ref()) };
        assert_eq!(next(&fixture), expected, "{:?} {even_if_drain_failed}", fixture.fence.status.drain);
    }
}

/// Methods that are not read, or have an error, are no other methods: what was begun by the first level goes on.
#[test]
fn a_fence_waits_when_its_level_may_not_be_there_any_more() {
    let error = || Blocker::new("FenceNotReady", "line 3");
    let both = FencePlan { levels: vec![level("ipmi"), level("pdu")], ..plan() };
    let tables = [
        (1, None, None),
        (1, Some(Err(error())), None),
        (1, Some(Ok(plan())), None),
        (2, None, Some("FenceNotReady")),
        (2, Some(Err(error())), Some("FenceNotReady")),
        (2, Some(Ok(plan())), Some("MethodsChanged")),
        (2, Some(Ok(both)), None),
    ];
    for (level, methods, reason) in tables {
        let mut fixture = silent("power");
        (fixture.fence.status.phase, fixture.fence.status.level) = (Phase::PoweringOff, Level(level));
        fixture.gathered.methods = methods;
        let waits = methods_changed(&fixture.input()).is_some();
        assert_eq!(waits, reason.is_some(), "{level} {:?}", fixture.gathered.methods);
        if let Some(reason) = reason {
            assert_eq!(next(&fixture), (Phase::PoweringOff, vec![reason.to_owned()]));
            let (_, blockers) = fixture.blocked();
            let names_it = blockers[0].message.contains("this record cut off the machine by level 2;");
            assert_eq!(names_it, reason == "MethodsChanged", "{blockers:?}");
        }
    }
}

/// Or a confirmation by the switch of a storage would prove that a machine is off.
#[test]
fn a_fence_waits_while_its_methods_cut_something_else_than_it_began_to_cut() {
    use Phase::{AwaitGuards, InDoubt, OffConfirmed, PodsReleased, PoweringOff, PoweringOn, Recovering};
    let storage = || Some("san".to_owned());
    for (began, cut) in [(None, storage()), (storage(), None), (storage(), Some("nas".to_owned()))] {
        for (phase, waits) in [
            (PoweringOff, true),
            (OffConfirmed, true),
            (PodsReleased, true),
            (PoweringOn, true),
            (InDoubt, true),
            (AwaitGuards, false),
            (Recovering, false),
        ] {
            let mut fixture = silent("power");
            fixture.fence.status.storage_only.clone_from(&began);
            fixture.fence.status.phase = phase;
            fixture.gathered.methods = Some(Ok(FencePlan { storage_only: cut.clone(), ..plan() }));
            let found = methods_changed(&fixture.input());
            assert_eq!(found.is_some(), waits, "{began:?} {cut:?} {phase:?}");
            if let Some(Next::Act(Action::Save { fence, .. })) = found {
                let name =
                    |cut: &Option<String>| cut.as_ref().map_or("the machine".into(), |name| format!("storage {name}"));
                let (is, was) = (name(&cut), name(&began));
                let expected = format!("cut off {is} now, and this record cut off {was};");
                let message = &fence.status.blocked_by[0].message;
                assert!(message.contains(&expected), "{message}");
            }
            fixture.gathered.methods = Some(Ok(FencePlan { storage_only: began.clone(), ..plan() }));
            assert!(methods_changed(&fixture.input()).is_none(), "{phase:?}");
        }
    }
    let mut reaps = silent("reap");
    let intent = Intent { op: IntendedOp::Reap, epoch: 7, at: reaps.now.wall, pods: 0 };
    (reaps.fence.status.phase, reaps.fence.status.intent) = (InDoubt, Some(intent));
    reaps.gathered.methods = Some(Ok(FencePlan { storage_only: storage(), ..plan() }));
    assert!(methods_changed(&reaps.input()).is_none(), "a provider replaces the machine, whatever the methods cut");
}
