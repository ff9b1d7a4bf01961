//! What the outcome of an act makes of the record: what is its own is known by it, what can be taken back is tried again,
//! and what certainly was not begun is asked again from the start.

use std::time::Duration;

use super::{
    fixture::Fixture,
    parts::{span, steps},
};
use crate::{
    action::{Done, EventDraft, Failed, IrreversibleOp, Op, Outcome, ReversibleOp},
    api::{
        OUT_OF_SERVICE,
        fence::{Confirmation, DrainReport, IntendedOp, Intent, NodeFence, Phase},
    },
    drain::DrainRules,
    facts::{Effect, Taint},
    fence::{apply_outcome, out_of_service, record::Draft},
    message::Message,
};

fn taint(value: &str) -> Taint {
    Taint { key: "nodewell.dev/remediation".into(), value: value.into(), effect: Effect::NoSchedule }
}

fn refused() -> Outcome {
    Err(Failed::Refused("403".into()))
}

/// In its first step, after a failure.
fn stepping(steps_of: &[&str]) -> Fixture {
    let mut fixture = Fixture::new(steps(steps_of));
    fixture.fence.status.phase = Phase::Isolating;
    (fixture.fence.status.failures, fixture.fence.status.last_failure) = (2, Some(fixture.now.wall));
    fixture
}

fn ended(fixture: &Fixture, op: ReversibleOp, outcome: &Outcome) -> (NodeFence, EventDraft) {
    apply_outcome(&fixture.fence, &Op::from(op), outcome, fixture.epoch, fixture.now)
}

fn has_failed(fixture: &Fixture, op: ReversibleOp, outcome: &Outcome) -> NodeFence {
    let (fence, event) = ended(fixture, op, outcome);
    assert_eq!((fence.status.failures, fence.status.last_failure), (3, Some(fixture.now.wall)), "{outcome:?}");
    assert_eq!(fence.status.phase, fixture.phase(), "{outcome:?}");
    assert!(event.warning, "{event:?}");
    fence
}

fn has_succeeded(fixture: &Fixture, op: ReversibleOp, outcome: &Outcome) -> NodeFence {
    let (fence, event) = ended(fixture, op, outcome);
    assert_eq!((fence.status.failures, fence.status.last_failure), (0, None), "{outcome:?}");
    assert!(!event.warning, "{event:?}");
    fence
}

#[test]
fn a_taint_is_ours_if_we_set_it_and_not_if_it_was_there() {
    let mut fixture = stepping(&["taint", "power"]);
    let op = || ReversibleOp::Taint(taint(""));
    for (before, outcome, after) in [
        (vec![], Ok(Done::Yes), vec![taint("")]),
        (vec![taint("")], Ok(Done::Yes), vec![taint("")]),
        (vec![taint(""), out_of_service()], Ok(Done::NotOurs), vec![out_of_service()]),
    ] {
        fixture.fence.status.own_changes.taints = before;
        let fence = has_succeeded(&fixture, op(), &outcome);
        assert_eq!(fence.status.own_changes.taints, after, "{outcome:?}");
        assert_eq!((fence.status.phase, fence.status.policy_step), (Phase::AwaitGuards, 1), "on to the next step");
    }
    fixture.fence.status.own_changes.taints = vec![taint("")];
    for outcome in [refused(), Ok(Done::Power(Vec::new()))] {
        let fence = has_failed(&fixture, op(), &outcome);
        assert_eq!(fence.status.own_changes.taints, [taint("")], "it may have been set");
    }
}

/// Or a machine whose taint is gone would be taken for one that is out of service.
#[test]
fn a_taint_that_is_gone_is_not_ours_any_more_and_one_that_stays_is() {
    let other = Taint { key: "other".into(), ..taint("") };
    for (removed, is_out_of_service) in [(out_of_service(), false), (taint(""), true)] {
        let mut fixture = stepping(&["power"]);
        fixture.fence.status.phase = Phase::Recovering;
        fixture.fence.status.out_of_service = true;
        fixture.fence.status.own_changes.taints = vec![other.clone(), removed.clone()];
        let op = || ReversibleOp::Untaint(removed.clone());
        for outcome in [Ok(Done::Yes), Ok(Done::NotOurs)] {
            let status = has_succeeded(&fixture, op(), &outcome).status;
            assert_eq!(status.own_changes.taints, std::slice::from_ref(&other), "{outcome:?}");
            assert_eq!(status.out_of_service, is_out_of_service, "{} {outcome:?}", removed.key);
        }
        let status = has_failed(&fixture, op(), &refused()).status;
        assert_eq!((status.own_changes.taints.len(), status.out_of_service), (2, true));
    }
    // A record that did not know it as set does not learn that it was.
    let mut fixture = stepping(&["power"]);
    fixture.fence.status.own_changes.taints = vec![taint("")];
    assert!(!has_succeeded(&fixture, ReversibleOp::Untaint(taint("")), &Ok(Done::Yes)).status.out_of_service);
    assert_eq!(out_of_service().key, OUT_OF_SERVICE);
}

#[test]
fn a_cordon_is_ours_if_we_set_it_and_until_it_is_gone() {
    let mut fixture = stepping(&["cordon", "power"]);
    for (before, outcome, after) in
        [(false, Ok(Done::Yes), true), (false, Ok(Done::NotOurs), false), (true, Ok(Done::NotOurs), true)]
    {
        fixture.fence.status.own_changes.cordon = before;
        let fence = has_succeeded(&fixture, ReversibleOp::Cordon, &outcome);
        assert_eq!((fence.status.own_changes.cordon, fence.status.phase), (after, Phase::AwaitGuards), "{outcome:?}");
    }
    fixture.fence.status.own_changes.cordon = false;
    for outcome in [refused(), Ok(Done::Power(Vec::new()))] {
        assert!(!has_failed(&fixture, ReversibleOp::Cordon, &outcome).status.own_changes.cordon);
    }
    fixture.fence.status.phase = Phase::Recovering;
    fixture.fence.status.own_changes.cordon = true;
    for outcome in [Ok(Done::Yes), Ok(Done::NotOurs)] {
        let fence = has_succeeded(&fixture, ReversibleOp::Uncordon, &outcome);
        assert_eq!((fence.status.own_changes.cordon, fence.status.phase), (false, Phase::Recovering), "{outcome:?}");
    }
    assert!(has_failed(&fixture, ReversibleOp::Uncordon, &refused()).status.own_changes.cordon);
}

#[test]
fn the_annotation_of_a_release_is_forgotten_or_tried_again() {
    let mut fixture = stepping(&["power"]);
    fixture.fence.status.phase = Phase::Recovering;
    for outcome in [Ok(Done::Yes), Ok(Done::NotOurs)] {
        has_succeeded(&fixture, ReversibleOp::ForgetRelease, &outcome);
    }
    has_failed(&fixture, ReversibleOp::ForgetRelease, &refused());
}

/// A method of isolation that failed may have acted: those of recovery take it back.
#[test]
fn methods_leave_a_node_isolated_until_those_of_recovery_have_run() {
    let names = || ReversibleOp::Methods(["port", "clean-pods", "cordon"].map(str::to_owned).into());
    for (phase, isolated) in [(Phase::AwaitGuards, true), (Phase::Recovering, false)] {
        let mut fixture = stepping(&["power"]);
        fixture.fence.status.phase = phase;
        for outcome in [Ok(Done::Yes), Ok(Done::NotOurs)] {
            for before in [false, true] {
                fixture.fence.status.isolated = before;
                assert_eq!(has_succeeded(&fixture, names(), &outcome).status.isolated, isolated, "{phase:?}");
            }
        }
        let (_, event) = ended(&fixture, names(), &Ok(Done::Yes));
        assert!(event.message.ends_with("ran: port, cordon"), "{}", event.message);
        for outcome in [refused(), Ok(Done::Power(Vec::new()))] {
            assert!(has_failed(&fixture, names(), &outcome).status.isolated, "{phase:?}");
        }
    }
}

#[test]
fn a_drain_that_ended_without_a_report_is_not_done_and_one_that_was_not_begun_is_begun_again() {
    let mut fixture = stepping(&["drain", "power"]);
    fixture.fence.status.phase = Phase::Draining;
    let rules = || ReversibleOp::Drain(DrainRules::of(&Default::default()).unwrap());
    for failed in [Failed::NotBegun("stopped".into()), Failed::Gone("it is another one".into())] {
        assert_eq!(has_failed(&fixture, rules(), &Err(failed)).status.drain, None);
    }
    let report = DrainReport { done: true, refused_evictions: Vec::new(), left: 0 };
    let status = has_succeeded(&fixture, rules(), &Ok(Done::Drain(report.clone()))).status;
    assert_eq!((status.drain, status.phase), (Some(report), Phase::AwaitGuards));
    for outcome in
        [refused(), Err(Failed::InDoubt("?".into())), Err(Failed::Timeout(Duration::from_secs(9))), Ok(Done::Yes)]
    {
        let (fence, event) = ended(&fixture, rules(), &outcome);
        let report = fence.status.drain.expect("it ended");
        assert_eq!(
            (report.done, fence.status.failures, fence.status.phase),
            (false, 0, Phase::AwaitGuards),
            "{outcome:?}"
        );
        assert!(event.warning && event.reason == "EvictionsRefused", "{event:?}");
        let why = match &outcome {
            Err(failed) => failed.to_string(),
            Ok(done) => format!("an answer that fits nothing: {done:?}"),
        };
        assert_eq!(report.refused_evictions, [why]);
    }
}

/// What came of an act of another phase moves nothing.
#[test]
fn a_step_that_ended_leads_to_the_next_one_or_to_the_wait_after_it() {
    let phase_after = |change: fn(&mut Fixture)| {
        let mut fixture = stepping(&["cordon", "power"]);
        change(&mut fixture);
        let status = has_succeeded(&fixture, ReversibleOp::Cordon, &Ok(Done::Yes)).status;
        (status.phase, status.policy_step)
    };
    assert_eq!(phase_after(|_| {}), (Phase::AwaitGuards, 1));
    assert_eq!(phase_after(|fixture| fixture.fence.spec.steps[0].then_wait = span("30s")), (Phase::Waiting, 0));
    assert_eq!(phase_after(|fixture| fixture.fence.spec.steps.truncate(1)), (Phase::Waiting, 0), "it was the last");
    let bad: fn(&mut Fixture) = |fixture| fixture.fence.spec.steps[0].then_wait = span("soon");
    assert_eq!(phase_after(bad), (Phase::Isolating, 0), "a time that cannot be read is no time");
    let bad: fn(&mut Fixture) = |fixture| fixture.fence.spec.steps[1] = Default::default();
    assert_eq!(phase_after(bad), (Phase::Isolating, 0), "nor is a step that cannot be read the next one");
    let bad: fn(&mut Fixture) = |fixture| {
        fixture.fence.spec.steps[0].then_wait = span("30s");
        fixture.fence.spec.steps[1] = Default::default();
    };
    assert_eq!(phase_after(bad), (Phase::Waiting, 0), "it is read when its turn comes");
    assert_eq!(phase_after(|fixture| fixture.fence.status.phase = Phase::Recovering), (Phase::Recovering, 0));
}

fn intending(op: IntendedOp, phase: Phase) -> Fixture {
    let mut fixture = Fixture::new(steps(&["power"]));
    fixture.fence.status.phase = phase;
    fixture.fence.status.intent = Some(Intent { op, epoch: 7, at: fixture.now.wall, pods: 1 });
    fixture
}

/// The phase after it, how many failures are counted, whether it is intended still, and what blocks it.
fn after(fixture: &Fixture, op: IrreversibleOp, outcome: Outcome) -> (Phase, u32, bool, Vec<String>) {
    let status = apply_outcome(&fixture.fence, &Op::from(op), &outcome, fixture.epoch, fixture.now).0.status;
    let reasons = status.blocked_by.into_iter().map(|blocker| blocker.reason).collect();
    (status.phase, status.failures, status.intent.is_some(), reasons)
}

#[test]
fn what_certainly_was_not_begun_is_asked_again_and_all_else_is_in_doubt() {
    let not_begun = || Err(Failed::NotBegun("the kill switch".into()));
    let gone = || Err(Failed::Gone("another Node".into()));
    let late = || Err(Failed::Timeout(Duration::from_secs(9)));
    let again = || (Phase::AwaitGuards, 0, false, vec!["NotBegun".to_owned()]);
    let doubt = |failures| (Phase::InDoubt, failures, true, Vec::new());
    let off = intending(IntendedOp::PowerOff, Phase::PoweringOff);
    assert_eq!(after(&off, IrreversibleOp::PowerOff, not_begun()), again());
    assert_eq!(after(&off, IrreversibleOp::PowerOff, gone()), again());
    assert_eq!(after(&off, IrreversibleOp::PowerOff, late()), doubt(1));
    let reap = intending(IntendedOp::Reap, Phase::Reaping);
    assert_eq!(after(&reap, IrreversibleOp::Reap, not_begun()), again());
    assert_eq!(after(&reap, IrreversibleOp::Reap, gone()), again());
    assert_eq!(after(&reap, IrreversibleOp::Reap, late()), doubt(1));
    assert_eq!(after(&reap, IrreversibleOp::Reap, Ok(Done::Yes)), (Phase::Waiting, 0, false, Vec::new()));
    // Off, or On, is known by reading alone: nothing is tried again that was not asked after.
    let on = intending(IntendedOp::PowerOn, Phase::PoweringOn);
    assert_eq!(after(&on, IrreversibleOp::PowerOn, not_begun()), doubt(0));
    assert_eq!(after(&on, IrreversibleOp::PowerOn, gone()), doubt(1));
    assert_eq!(after(&on, IrreversibleOp::PowerOn, Ok(Done::Yes)), (Phase::AwaitReady, 0, false, Vec::new()));
    let release = intending(IntendedOp::Release, Phase::PodsReleased);
    let op = || IrreversibleOp::Release { pods: Vec::new() };
    assert_eq!(after(&release, op(), not_begun()), (Phase::OffConfirmed, 1, false, Vec::new()));
    assert_eq!(after(&release, op(), gone()), doubt(1));
    assert_eq!(after(&release, op(), late()), doubt(1));
}

/// A timer of a phase begins when it is entered, and goes on while it is written again.
#[test]
fn a_phase_is_entered_when_it_was_another_one() {
    let fixture = stepping(&["cordon"]);
    let earlier = fixture.now.wall - Duration::from_secs(60);
    let since = |phase| {
        let mut fence = fixture.fence.clone();
        (fence.status.phase, fence.status.since) = (phase, Some(earlier));
        let draft = Draft::new(&fence, 7, fixture.now.wall)
            .enter(Phase::AwaitGuards, Message::plain("FenceAwaitGuards/retried"));
        draft.finish().0.status.since
    };
    assert_eq!((since(Phase::Failed), since(Phase::AwaitGuards)), (Some(fixture.now.wall), Some(earlier)));
}

/// One that is turned on by a person after the controller had turned it off at the limit.
#[test]
fn a_machine_that_is_given_back_is_a_cycle_if_the_controller_turned_it_off_at_the_limit() {
    for (ordered_off, already_off, counted, cycles) in [
        (true, Some(false), false, 1),
        // Its Off was lost, and found again.
        (true, Some(true), false, 1),
        (true, Some(false), true, 0),
        (false, Some(true), false, 0),
        (false, None, false, 0),
    ] {
        let mut fixture = stepping(&["power"]);
        let at = fixture.now.wall;
        fixture.fence.status.at_limit = true;
        (fixture.fence.status.ordered_off, fixture.fence.status.order_counted) = (ordered_off, counted);
        fixture.fence.status.off = already_off.map(|already_off| Confirmation {
            at,
            reads: 2,
            by: Vec::new(),
            boot_id: String::new(),
            already_off,
            epoch: 7,
        });
        let status = Draft::new(&fixture.fence, 7, at).give_back("eva").finish().0.status;
        assert_eq!(status.cycles.len(), cycles, "{ordered_off} {already_off:?} {counted}");
        assert!(status.returning && status.observed_release == "eva");
    }
}
