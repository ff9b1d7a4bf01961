//! With what an open record is asked for its next step, and what its acts use up.

use std::sync::Arc;

use super::*;
use crate::{
    api::{
        SKIP_REMEDIATION,
        fence::{Confirmation, NodeFenceStatus},
    },
    facts::Pod,
};

/// The record of `n0` at its power step, under a policy that moves five pods in ten minutes; three are on `n0`.
pub(super) fn at_power() -> Snapshot {
    let mut policy = policy("p", vec![cordon(), power_cycle()]);
    policy.pods = Rate { count: 5, window: Duration::from_secs(600) };
    let mut snapshot = snapshot_of(1, vec![policy]);
    let first = run(&snapshot, Memory::default(), 1000);
    store(&mut snapshot, &first, 1000);
    snapshot.fences.get_mut("n0").unwrap().status.policy_step = 1;
    snapshot.gathered.get_mut("n0").unwrap().pods = Some((at(1000), vec![Pod::default(); 3]));
    snapshot
}

pub(super) fn status(snapshot: &mut Snapshot) -> &mut NodeFenceStatus {
    &mut snapshot.fences.get_mut("n0").unwrap().status
}

fn show(text: String) -> Next {
    Next::Wait { until: None, blockers: vec![Blocker::new(&text, "")] }
}

fn shows_predicate(input: &FenceInput<'_>) -> Next {
    show(format!("{:?}", input.predicate))
}

fn shows_entered(input: &FenceInput<'_>) -> Next {
    show(format!("{:?}", input.entered))
}

fn shows_what_was_seen_since(input: &FenceInput<'_>) -> Next {
    show(format!("{}", input.post_off_activity.is_some()))
}

/// Whatever the guards say.
fn perform(input: &FenceInput<'_>, op: Op) -> Next {
    Next::Act(Action::Perform { fence: Box::new(input.fence.clone()), op })
}

fn cordons(input: &FenceInput<'_>) -> Next {
    perform(input, Op::Reversible(ReversibleOp::Cordon))
}

pub(super) fn drains(input: &FenceInput<'_>) -> Next {
    perform(input, Op::Reversible(ReversibleOp::Drain(rules())))
}

fn isolates(input: &FenceInput<'_>) -> Next {
    perform(input, Op::Reversible(ReversibleOp::Methods(vec!["port".into()])))
}

fn cuts(input: &FenceInput<'_>) -> Next {
    perform(input, Op::Irreversible(IrreversibleOp::PowerOff))
}

pub(super) fn releases(input: &FenceInput<'_>) -> Next {
    perform(input, Op::Irreversible(IrreversibleOp::Release { pods: Vec::new() }))
}

fn turns_on(input: &FenceInput<'_>) -> Next {
    perform(input, Op::Irreversible(IrreversibleOp::PowerOn))
}

const WINDOW: Duration = Duration::from_secs(600);

#[test]
fn an_act_uses_up_what_it_does() {
    for (state_machine, pods, disruptive) in [
        (cordons as StateMachine, 0, 0),
        (drains, 3, 1),
        (isolates, 0, 1),
        (cuts, 0, 1),
        (releases, 3, 1),
        (turns_on, 0, 0),
    ] {
        let snapshot = at_power();
        let decision = decide_by(state_machine, &snapshot, Memory::default(), now(1001));
        let history = &decision.memory.history;
        assert_eq!(history.pods("p", snapshot.policies[0].pods, "n1", at(1001)), pods, "{:?}", decision.actions);
        let begun = history.started_within("p", DisruptionLevel::Power, "n1", WINDOW, at(1001));
        assert_eq!(begun, disruptive, "{:?}", decision.actions);
    }
}

/// Within one pass, too.
#[test]
fn of_two_records_that_wait_for_power_the_first_uses_up_the_rate() {
    let mut policy = policy("p", vec![cordon(), power_cycle()]);
    policy.budget.rate = Some(Rate { count: 1, window: WINDOW });
    let mut snapshot = snapshot_of(2, vec![policy]);
    let first = run(&snapshot, Memory::default(), 1000);
    store(&mut snapshot, &first, 1000);
    snapshot.fences.values_mut().for_each(|fence| fence.status.policy_step = 1);
    let second = run(&snapshot, first.memory, 1001);
    assert_eq!(second.actions.iter().map(Action::node).collect::<Vec<_>>(), ["n0"]);
    assert_eq!(reasons(&second, "n1"), ["Rate"]);
}

/// A state machine that asks no guard does nothing either.
#[test]
fn nothing_is_done_where_the_controller_must_not_act() {
    type Stop = (&'static str, fn(&mut Snapshot));
    let stops: [Stop; 6] = [
        ("NotLeading", |snapshot| snapshot.epoch = 0),
        ("DryRun", |snapshot| snapshot.dry_run = true),
        ("KillSwitch", |snapshot| snapshot.stopped = Some("a person".into())),
        ("CacheNotSynced", |snapshot| snapshot.host.synced = false),
        ("RemediationSkipped", |snapshot| {
            snapshot.nodes.get_mut("n0").unwrap().annotations.insert(SKIP_REMEDIATION.into(), "mine".into());
        }),
        ("RemediationSkipped", |snapshot| {
            let annotations = &mut snapshot.fences.get_mut("n0").unwrap().metadata.annotations;
            annotations.insert(SKIP_REMEDIATION.into(), "mine".into());
        }),
    ];
    assert_eq!(decide_by(cuts, &at_power(), Memory::default(), now(1001)).actions.len(), 1);
    for (reason, stop) in stops {
        let mut snapshot = at_power();
        stop(&mut snapshot);
        let decision = decide_by(cuts, &snapshot, Memory::default(), now(1001));
        assert_eq!(decision.actions, [], "{reason}");
        assert!(reasons(&decision, "n0").contains(&reason), "{:?}", reasons(&decision, "n0"));
    }
}

#[test]
fn an_error_of_its_predicate_stops_a_record_and_is_reported() {
    let mut snapshot = at_power();
    snapshot.policies[0].when = Predicate::Other(Arc::new(Fails));
    let decision = run(&snapshot, Memory::default(), 1001);
    assert_eq!((decision.actions.len(), reasons(&decision, "n0")), (0, vec!["PredicateError"]));
    assert_eq!(decision.node_reports[0].errors, [("p".to_owned(), "no such key".to_owned())]);
}

#[test]
fn a_report_has_the_phase_and_the_step_of_a_record_and_its_policy_if_there_is_one() {
    let mut snapshot = at_power();
    let report = &run(&snapshot, Memory::default(), 1001).node_reports[0];
    assert_eq!((report.phase, report.next.as_deref()), (Some(Phase::Isolating), Some("powerCycle")));
    for (phase, step, next) in [
        (Phase::Waiting, 0, Some("powerCycle")),
        (Phase::Waiting, 1, None),
        (Phase::Waiting, usize::MAX, None),
        (Phase::AwaitReady, 1, Some("restore")),
        (Phase::Failed, 1, Some("powerCycle")),
    ] {
        let mut snapshot = snapshot.clone();
        let status = &mut snapshot.fences.get_mut("n0").unwrap().status;
        (status.phase, status.policy_step) = (phase, step);
        assert_eq!(super::super::records::at_hand(&snapshot.fences["n0"]), next, "{phase:?}");
    }
    let policy = |snapshot: &Snapshot| run(snapshot, Memory::default(), 1001).node_reports[0].policy.clone();
    assert_eq!(policy(&snapshot), Some("p".into()));
    snapshot.fences.get_mut("n0").unwrap().spec.policy = String::new();
    assert_eq!(policy(&snapshot), None);
}

/// For `healthyDelay` no step is next, unless its power is being cut; at the end what was done is taken back.
#[test]
fn of_a_node_that_is_healthy_again_it_is_reported_when_it_is_given_back() {
    let mut snapshot = at_power();
    let memory = run(&snapshot, Memory::default(), 1001).memory;
    let node = snapshot.nodes.get_mut("n0").unwrap();
    set_condition(node, "Ready", ConditionStatus::True, "KubeletReady", at(1010));
    node.resource_version.push('y');
    let memory = run(&snapshot, memory, 1010).memory;
    let shown = |snapshot: &Snapshot, second| {
        let report = run(snapshot, memory.clone(), second).node_reports.swap_remove(0);
        (report.next, report.restored_at)
    };
    for phase in [Phase::Isolating, Phase::Waiting, Phase::AwaitGuards, Phase::Recovering] {
        status(&mut snapshot).phase = phase;
        assert_eq!(shown(&snapshot, 1100), (None, Some(wall(1310))), "{phase:?}");
    }
    assert_eq!(shown(&snapshot, 1310), (Some("restore".to_owned()), None));
    status(&mut snapshot).phase = Phase::PoweringOff;
    assert_eq!(shown(&snapshot, 1100), (Some("powerCycle".to_owned()), None));
    status(&mut snapshot).phase = Phase::Closed;
    assert_eq!(shown(&snapshot, 1100), (None, None));
    status(&mut snapshot).phase = Phase::Waiting;
    snapshot.fences.get_mut("n0").unwrap().spec.abort = true;
    assert_eq!(shown(&snapshot, 1100), (None, None), "it is taken back at once");
}

#[test]
fn a_record_whose_policy_is_gone_is_counted_with_the_others_of_that_policy() {
    let mut snapshot = snapshot_of(2, vec![policy("p", vec![cordon(), power_cycle()])]);
    let first = run(&snapshot, Memory::default(), 1000);
    store(&mut snapshot, &first, 1000);
    snapshot.gathered.get_mut("n1").unwrap().pods = Some((at(1000), vec![Pod::default(); 10_000]));
    let second = decide_by(drains, &snapshot, first.memory, now(1001));
    snapshot.busy.insert("n1".into());
    snapshot.policies.clear();
    snapshot.fences.get_mut("n0").unwrap().status.policy_step = 1;
    let third = run(&snapshot, second.memory, 1002);
    assert!(reasons(&third, "n0").contains(&"PodRate"), "{:?}", reasons(&third, "n0"));
}

/// The policy does not want the node any more; whether its predicate is true is of no interest then.
#[test]
fn a_node_that_its_policy_does_not_select_any_more_needs_it_no_more() {
    let mut snapshot = at_power();
    let first = decide_by(shows_predicate, &snapshot, Memory::default(), now(1001));
    assert_eq!(reasons(&first, "n0"), ["Yes"]);
    snapshot.policies[0].selector.match_labels.insert("gpu".into(), "yes".into());
    let second = decide_by(shows_predicate, &snapshot, first.memory, now(1002));
    assert_eq!(reasons(&second, "n0"), ["No { since: Moment(1002s) }"]);
    assert_eq!(second.memory.result("p", "n1"), None, "it has no record");
}

#[test]
fn what_is_seen_of_a_node_is_remembered_once_its_boot_has_ended() {
    let mut snapshot = at_power();
    let seen = |snapshot: &Snapshot| {
        let decision = decide_by(shows_what_was_seen_since, snapshot, Memory::default(), now(1001));
        reasons(&decision, "n0").concat()
    };
    assert_eq!(seen(&snapshot), "false");
    status(&mut snapshot).off = Some(Confirmation {
        at: wall(1000),
        reads: 2,
        by: vec!["bmc".into()],
        boot_id: "boot-n0".into(),
        already_off: false,
        epoch: 1,
    });
    assert_eq!(seen(&snapshot), "true");
}

#[test]
fn one_who_looks_once_counts_from_when_the_record_says_that_its_phase_began() {
    let mut snapshot = at_power();
    status(&mut snapshot).since = Some(wall(1100));
    let memory = Memory::reconstructed(&snapshot, now(1300));
    assert_eq!(reasons(&decide_by(shows_entered, &snapshot, memory, now(1300)), "n0"), ["Moment(1100s)"]);
    let memory = Memory::default();
    assert_eq!(reasons(&decide_by(shows_entered, &snapshot, memory, now(1300)), "n0"), ["Moment(1300s)"]);
    for (phase, since) in [(Phase::Draining, "Moment(1200s)"), (Phase::Waiting, "Moment(1100s)")] {
        (status(&mut snapshot).phase, status(&mut snapshot).drain_begun_at) = (phase, Some(wall(1200)));
        let memory = Memory::reconstructed(&snapshot, now(1300));
        assert_eq!(reasons(&decide_by(shows_entered, &snapshot, memory, now(1300)), "n0"), [since]);
    }
}
