//! A node that recovered while the order for its power was under way, and was cut all the same.

use std::time::Duration;

use super::{
    course::{at, dead, run},
    fixture::Fixture,
    interrupts::{in_phase, next_phase},
    parts::{level, plan, reading},
    rack::{BMC, Manner, PDU, Rack, at as rack_at},
};
use crate::{
    action::{Action, Failed, IrreversibleOp, Op},
    api::fence::{Confirmation, NodeFenceStatus, Phase},
    fence::{Next, PredicateState, apply_outcome},
    guard::reason::WITHIN_GRACE_PERIOD,
    snapshot::{FenceLevel, FencePlan, PowerState},
    time::Moment,
};

/// It has needed nothing for as long as its BMC took for the order, and reads Off now: its kubelet spoke so long ago.
fn cut_late_since(phase: Phase, silent_secs: u64) -> Fixture {
    let mut fixture = in_phase(phase);
    (fixture.fence.status.cycles, fixture.fence.status.ordered_off) = (vec![fixture.now.wall], true);
    fixture.fence.status.lease_renewed = None;
    let spoke = fixture.now.moment;
    let lease = fixture.kubelet.as_mut().unwrap();
    (lease.change_seen_at, lease.renewed) = (spoke, Some(fixture.now.wall));
    let after = |secs| spoke.plus(Duration::from_secs(secs));
    fixture.now.moment = after(silent_secs);
    fixture.predicate = PredicateState::No { since: Moment(spoke.0 - Duration::from_secs(60)) };
    fixture.gathered.power =
        [silent_secs - 3, silent_secs - 1].map(|secs| reading(after(secs), PowerState::Off)).into();
    fixture
}

fn cut_late(phase: Phase) -> Fixture {
    cut_late_since(phase, 40)
}

/// Its kubelet spoke while the act waited for Off, which is confirmed now.
fn spoke_before_off() -> Fixture {
    let mut fixture = dead();
    run(&mut fixture, 400, at(Phase::OffConfirmed));
    let spoke = fixture.now;
    fixture.predicate = PredicateState::No { since: spoke.moment };
    let lease = fixture.kubelet.as_mut().unwrap();
    (lease.renewed, lease.change_seen_at) = (Some(spoke.wall), spoke.moment);
    fixture
}

fn saved(fixture: &Fixture) -> NodeFenceStatus {
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    fence.status
}

#[test]
fn a_node_that_recovered_before_it_was_cut_is_turned_on_again() {
    let mut fixture = cut_late(Phase::AwaitGuards);
    (fixture.fence.status.failures, fixture.fence.status.last_failure) = (4, Some(fixture.now.wall));
    fixture.fence.status.failed_levels = vec![BMC];
    fixture.node.as_mut().unwrap().boot_id = "boot-5".into();
    let status = saved(&fixture);
    assert_eq!((status.phase, status.failures, status.returning), (Phase::PoweringOn, 0, true), "leaveOff or not");
    assert_eq!((status.boot_id.as_str(), status.failed_levels, status.last_failure), ("boot-5", vec![], None));
    assert_eq!(status.lease_renewed, fixture.kubelet.as_ref().unwrap().renewed, "any later one shows that it lives");
    let off = Confirmation {
        at: fixture.now.wall - Duration::from_secs(1),
        reads: 2,
        by: vec!["BMC reports Off since 3 s".into()],
        boot_id: "boot-5".into(),
        already_off: false,
        epoch: 7,
    };
    assert_eq!(status.off, Some(off));
}

/// Until its kubelet is overdue its BMC may be wrong.
#[test]
fn it_is_turned_on_once_its_kubelet_is_overdue_too() {
    for (silent, phase) in [(11, Phase::AwaitGuards), (12, Phase::PoweringOn)] {
        let next = next_phase(&cut_late_since(Phase::AwaitGuards, silent));
        assert_eq!(next.unwrap_or(Phase::AwaitGuards), phase, "{silent}");
    }
}

/// It reports On, or this record has found it on since it ordered it off, or nothing of the machine: it is well.
#[test]
fn a_node_that_was_not_cut_late_is_well() {
    for change in [
        (|fixture| fixture.gathered.power.clear()) as fn(&mut Fixture),
        |fixture| fixture.gathered.power.iter_mut().for_each(|reading| reading.state = PowerState::On),
        |fixture| fixture.kubelet.as_mut().unwrap().change_seen_at = fixture.now.moment,
        |fixture| fixture.fence.status.ordered_off = false,
        |fixture| fixture.fence.status.storage_only = Some("san".into()),
        |fixture| fixture.gathered.methods = Some(Ok(FencePlan { storage_only: Some("san".into()), ..plan() })),
    ] {
        let mut fixture = cut_late(Phase::AwaitGuards);
        change(&mut fixture);
        assert_eq!(next_phase(&fixture), Some(Phase::Recovering));
    }
}

/// Its BMC took 20 s for the order, within the time that the act waits: Off was confirmed, and is void.
#[test]
fn a_node_that_spoke_while_its_off_was_waited_for_is_turned_on_again() {
    let mut fixture = spoke_before_off();
    let phases = run(&mut fixture, 100, |fixture| fixture.powered);
    assert!(fixture.powered, "{phases:?}: {:?}", fixture.fence.status.log);
    assert!(fixture.fence.status.released_at.is_none(), "its pods are its own");
    run(&mut fixture, 200, at(Phase::Closed));
    assert_eq!((fixture.phase(), fixture.fence.status.ordered_off), (Phase::Closed, false));
}

/// Or its record would end with the machine off, and the next one would cut it again.
#[test]
fn a_machine_that_was_cut_late_is_not_left_to_itself() {
    for phase in [Phase::KdumpWait, Phase::Failed] {
        assert_ne!(next_phase(&cut_late(phase)), Some(Phase::Recovering), "{phase:?}");
    }
    let mut fixture = cut_late(Phase::AwaitGuards);
    fixture.predicate = PredicateState::No { since: fixture.now.moment };
    assert_ne!(next_phase(&fixture), Some(Phase::PoweringOn), "it may need it still");
}

/// Another policy may be true of it, whose record none can be opened beside this one.
#[test]
fn at_the_limit_it_is_not_turned_on_and_is_a_dead_node_in_the_end() {
    for (at_limit, silent, expected) in [
        (true, 40, Phase::AwaitGuards),
        (true, 49, Phase::AwaitGuards),
        (true, 50, Phase::Recovering),
        (false, 50, Phase::PoweringOn),
    ] {
        let mut fixture = cut_late_since(Phase::AwaitGuards, silent);
        (fixture.fence.status.at_limit, fixture.fence.status.ordered_off) = (at_limit, !at_limit);
        let phase = next_phase(&fixture).unwrap_or(Phase::AwaitGuards);
        assert_eq!(phase, expected, "{at_limit} {silent}");
    }
}

/// Who aborts a record wants its machine back.
#[test]
fn an_aborted_record_turns_its_machine_on() {
    for at_limit in [false, true] {
        for silent in [12, 60] {
            let mut fixture = cut_late_since(Phase::AwaitGuards, silent);
            fixture.fence.spec.abort = true;
            let status = &mut fixture.fence.status;
            // At the limit its order is no cycle before it is turned on.
            (status.at_limit, status.ordered_off, status.order_counted) = (at_limit, true, !at_limit);
            status.cycles.clear();
            fixture.predicate = PredicateState::Yes;
            let status = saved(&fixture);
            assert_eq!((status.phase, status.returning), (Phase::PoweringOn, true), "{at_limit} {silent}");
            assert_eq!(status.cycles.len(), usize::from(at_limit), "{silent}");
            for phase in [Phase::KdumpWait, Phase::Failed] {
                fixture.fence.status.phase = phase;
                assert_eq!(next_phase(&fixture), Some(Phase::AwaitGuards), "{phase:?}");
            }
        }
    }
    let mut fixture = cut_late_since(Phase::AwaitGuards, 11);
    fixture.fence.spec.abort = true;
    let status = saved(&fixture);
    assert!(status.phase == Phase::AwaitGuards && status.is_blocked_by(WITHIN_GRACE_PERIOD), "its BMC may be wrong");
}

/// The outlets of the second level, which is next, are On: that speaks for nothing.
#[test]
fn a_bmc_that_obeys_late_is_heard_although_another_level_is_next() {
    let mut fixture = cut_late(Phase::AwaitGuards);
    let pdu_level = FenceLevel { asks_machine: false, ..level("pdu") };
    fixture.gathered.methods = Some(Ok(FencePlan { levels: vec![level("ipmi"), pdu_level], ..plan() }));
    fixture.fence.status.failed_levels = vec![BMC];
    let mut outlets = reading(fixture.now.moment, PowerState::On);
    (outlets.level, outlets.asks_machine) = (PDU, false);
    fixture.gathered.power.push(outlets);
    let status = saved(&fixture);
    assert_eq!((status.phase, status.level), (Phase::PoweringOn, BMC));
    assert_eq!(status.off.unwrap().at, fixture.now.wall - Duration::from_secs(1), "by its own reading");
    // A BMC that is not proven to be its own is not heard.
    let Some(Ok(plan)) = &mut fixture.gathered.methods else { unreachable!() };
    plan.levels[0].identity = Some(Err("another GUID".into()));
    assert_eq!(next_phase(&fixture), Some(Phase::Recovering));
}

/// There is no BMC: the order went to them.
#[test]
fn outlets_at_hand_that_obey_late_are_heard() {
    let mut fixture = cut_late(Phase::AwaitGuards);
    let pdu_level = FenceLevel { asks_machine: false, ..level("pdu") };
    fixture.gathered.methods = Some(Ok(FencePlan { levels: vec![pdu_level], ..plan() }));
    fixture.gathered.power.iter_mut().for_each(|reading| reading.asks_machine = false);
    assert_eq!(next_phase(&fixture), Some(Phase::PoweringOn));
}

/// It had its pods when it was cut, and they have nowhere to run.
#[test]
fn a_machine_that_cannot_be_turned_on_has_its_pods_released_once_its_node_is_dead() {
    let mut fixture = spoke_before_off();
    run(&mut fixture, 100, at(Phase::PoweringOn));
    assert_eq!(fixture.phase(), Phase::PoweringOn);
    fixture.fence.status.failures = 5;
    fixture.predicate = PredicateState::Yes;
    let phases = run(&mut fixture, 100, |fixture| fixture.fence.status.released > 0);
    assert!(fixture.fence.status.released > 0, "{phases:?}: {:?}", fixture.fence.status.log);
    assert!(phases.contains(&Phase::InDoubt), "Off is read again: {phases:?}");
    run(&mut fixture, 100, at(Phase::PoweringOn));
    fixture.fence.status.failures = 5;
    assert_eq!(next_phase(&fixture), Some(Phase::Quarantined), "there is an end");
}

/// Without them a person has to look, as at each machine that cannot be turned on.
#[test]
fn nothing_is_released_of_a_node_that_may_be_well_or_that_a_person_wants_back() {
    for change in [
        (|_| {}) as fn(&mut Fixture),
        |fixture| fixture.predicate = PredicateState::Unknown,
        |fixture| fixture.predicate = PredicateState::No { since: fixture.now.moment },
        |fixture| fixture.fence.spec.abort = true,
        |fixture| fixture.fence.status.release_begun = true,
        |fixture| fixture.fence.status.policy_step = 0,
    ] {
        let mut fixture = dead();
        run(&mut fixture, 400, at(Phase::OffConfirmed));
        (fixture.fence.status.phase, fixture.fence.status.failures) = (Phase::PoweringOn, 5);
        fixture.entered = fixture.now.moment;
        fixture.predicate = PredicateState::Yes;
        change(&mut fixture);
        let is_plain = next_phase(&fixture) == Some(Phase::InDoubt);
        assert!(is_plain || next_phase(&fixture) == Some(Phase::Quarantined), "{:?}", fixture.next());
        let changed = fixture.fence.spec.abort
            || fixture.fence.status.release_begun
            || fixture.fence.status.policy_step == 0
            || fixture.predicate != PredicateState::Yes;
        assert_eq!(is_plain, !changed);
    }
}

/// The only way by which it could be turned on is dead, and its outlets are not.
#[test]
fn a_machine_that_is_to_be_turned_on_by_a_silent_bmc_is_fenced_by_its_outlets() {
    let mut rack = Rack::new(Manner::Honest, Manner::Honest);
    assert!(rack.run(120, rack_at(Phase::OffConfirmed)));
    rack.fixture.fence.status.phase = Phase::PoweringOn;
    assert!(rack.run(20, |rack| rack.fixture.fence.status.intent.is_some()), "{:?}", rack.fixture.phase());
    rack.bmc = Manner::Silent;
    let lost = Err(Failed::InDoubt("no answer".into()));
    let op = Op::from(IrreversibleOp::PowerOn);
    let (fence, _) = apply_outcome(&rack.fixture.fence, &op, &lost, rack.fixture.epoch, rack.fixture.now);
    rack.fixture.store(fence);
    assert!(rack.releases(100), "{:?}", rack.fixture.fence.status);
    assert!(rack.orders.contains(&(PDU, false)), "{:?}", rack.orders);
}
