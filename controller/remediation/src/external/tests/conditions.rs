//! Each state of a record, and what its request shows of it.

use super::*;
use crate::{
    api::{fence::DrainReport, policy::StepSpec},
    external::progress::{Progress, of_record, pods_released},
};

fn of(record: NodeFence) -> (ConditionWord, ConditionWord, String) {
    let mut fixture = Fixture::with(record);
    fixture.step();
    fixture.shown()
}

/// Succeeded=False has node-healthcheck-operator try the next remediator at once, and True takes its time-out away.
#[test]
fn a_request_succeeds_only_after_off_release_and_return_and_fails_only_at_an_end() {
    for phase in PHASES {
        let (_, before, _) = of(record(phase));
        let ended = [Phase::Quarantined, Phase::Closed].contains(&phase);
        assert_eq!(before, if ended { FALSE } else { UNKNOWN }, "{phase:?}, nothing released");
        let (_, after, _) = of(released(phase));
        let expected = match phase {
            Phase::Recovering | Phase::Closed => TRUE,
            Phase::Quarantined => FALSE,
            _ => UNKNOWN,
        };
        assert_eq!(after, expected, "{phase:?}, released");
    }
}

#[test]
fn each_end_has_its_own_reason() {
    let mut aborted = record(Phase::Closed);
    aborted.spec.abort = true;
    let mut lied = blocked(released(Phase::Recovering), "AwaitingReady");
    lied.status.giving_up = Some(Blocker::plain("FalseConfirmation"));
    for (record, expected) in [
        (blocked(released(Phase::PodsReleased), "LeftOff"), is(FALSE, TRUE, "Fenced")),
        (blocked(released(Phase::PodsReleased), "PowerCycleLimit"), is(FALSE, FALSE, "PowerCycleLimit")),
        (blocked(released(Phase::PodsReleased), "PodsUnknown"), is(TRUE, UNKNOWN, "TurningOn")),
        (blocked(record(Phase::Quarantined), "Attempts"), is(FALSE, FALSE, "Attempts")),
        (blocked(record(Phase::Waiting), "StepsExhausted"), is(FALSE, FALSE, "StepsExhausted")),
        (blocked(record(Phase::AwaitGuards), "PowerCycleLimit"), is(TRUE, UNKNOWN, "FencingBlocked")),
        (aborted, is(FALSE, FALSE, "NotFenced")),
        (lied, is(TRUE, UNKNOWN, "FencingBlocked")),
    ] {
        assert_eq!(of(record.clone()), expected, "{:?}", record.status);
    }
}

/// It has joined a policy's record, whose steps begin again and again.
#[test]
fn a_record_without_power_steps_whose_drain_left_pods_fails_its_request_in_every_phase() {
    let drains: Vec<StepSpec> = serde_json::from_value(json!([{ "cordon": {} }, { "drain": {} }])).unwrap();
    let cuts: Vec<StepSpec> = serde_json::from_value(json!([{ "drain": {} }, { "powerCycle": {} }])).unwrap();
    let reaps: Vec<StepSpec> = serde_json::from_value(json!([{ "drain": {} }, { "reap": {} }])).unwrap();
    let left = DrainReport { done: false, refused_evictions: vec!["shop/a: a budget".into()], left: 0 };
    let failed = is(FALSE, FALSE, "DrainIncomplete");
    let under_way = is(TRUE, UNKNOWN, "Fencing");
    for phase in [Phase::Pending, Phase::Isolating, Phase::Draining, Phase::Waiting, Phase::Recovering] {
        for (steps, drain, rounds, expected) in [
            (&drains, Some(&left), 0, &failed),
            (&drains, None, 1, &failed),
            (&drains, None, 0, &under_way),
            (&cuts, None, 1, &under_way),
            (&cuts, Some(&left), 0, &under_way),
            (&reaps, None, 1, &under_way),
        ] {
            let mut record = record(phase);
            record.metadata.annotations.clear();
            record.spec.policy = "ill".into();
            record.spec.steps.clone_from(steps);
            (record.status.drain, record.status.drain_rounds) = (drain.cloned(), rounds);
            assert_eq!(of(record.clone()), *expected, "{phase:?}: {:?} {:?}", record.spec.steps, record.status.drain);
        }
    }
}

/// Off that was found false is no Off, and pods that are about to go are not gone.
#[test]
fn a_release_counts_when_it_was_done() {
    assert!(pods_released(&released(Phase::PodsReleased)));
    assert!(!pods_released(&releasing(released(Phase::PodsReleased))));
    assert!(!pods_released(&record(Phase::PodsReleased)));
    let mut on = released(Phase::PoweringOn);
    on.status.intent = Some(Intent { op: IntendedOp::PowerOn, epoch: 1, at: wall(60), pods: 0 });
    assert_eq!(of_record(&on), Progress::TurningOn, "what is intended is power on");
}

#[test]
fn the_message_names_the_record_its_phase_and_what_blocks_it() {
    let mut fixture = Fixture::with(blocked(record(Phase::AwaitGuards), "Storm"));
    fixture.step();
    let conditions = read(&fixture.request).status.conditions;
    assert_eq!(conditions[0].message, "NodeFence n0 is in AwaitGuards, blocked by Storm: why");
    assert_eq!(conditions[0].message, conditions[1].message);
    assert_eq!((conditions[2].kind.as_str(), conditions[2].status), ("PermanentNodeDeletionExpected", FALSE));
}

#[test]
fn a_transition_is_of_the_status_alone() {
    let mut fixture = Fixture::with(record(Phase::AwaitGuards));
    fixture.request["status"] = json!({ "conditions": [
        { "type": "Processing", "status": "True", "reason": "x", "message": "", "lastTransitionTime": wall(1) },
        { "type": "Succeeded", "status": "False", "reason": "x", "message": "", "lastTransitionTime": wall(1) },
    ] });
    fixture.step();
    let conditions = read(&fixture.request).status.conditions;
    assert_eq!((conditions[0].last_transition_time, conditions[1].last_transition_time), (wall(1), now()));
    let again = fixture.next().status;
    assert_eq!(again, read(&fixture.request).status, "nothing to write");
}
