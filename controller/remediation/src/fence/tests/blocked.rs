//! What the guards forbid of a record that is open: to write it at all, to turn its machine on, to take back what is its
//! own.

use super::{
    fixture::Fixture,
    parts::{reading, steps},
};
use crate::{
    action::{Action, Op, ReversibleOp},
    api::fence::{Blocker, Confirmation, IntendedOp, Phase},
    fence::{GuardBlockers, Next},
    guard::reason::{
        BUDGET_CLUSTER, CACHE_NOT_SYNCED, CLAIMED_BY_PEER, DRY_RUN, KILL_SWITCH, NOT_LEADING, REMEDIATION_SKIPPED,
        STORM,
    },
    snapshot::PowerState,
};

/// The same reason, wherever the guards have it.
fn everywhere(reason: &str) -> [GuardBlockers; 3] {
    let one = || vec![Blocker::new(reason, "")];
    [
        GuardBlockers { isolate: one(), ..GuardBlockers::default() },
        GuardBlockers { drain: one(), ..GuardBlockers::default() },
        GuardBlockers { power: one(), ..GuardBlockers::default() },
    ]
}

#[test]
fn a_controller_that_does_not_lead_or_does_not_know_enough_writes_nothing() {
    let mut fixture = Fixture::new(steps(&["cordon", "power"]));
    for phase in [Phase::Pending, Phase::AwaitGuards, Phase::OffConfirmed, Phase::Recovering, Phase::Failed] {
        fixture.fence.status.phase = phase;
        for reason in [NOT_LEADING, DRY_RUN, CACHE_NOT_SYNCED] {
            for blockers in everywhere(reason) {
                fixture.guard_blockers = blockers;
                let expected = Next::Wait { until: None, blockers: vec![Blocker::new(reason, "")] };
                assert_eq!(fixture.next(), expected, "{phase:?} {reason}");
            }
        }
        fixture.guard_blockers = GuardBlockers::default();
        fixture.epoch = 0;
        let Next::Wait { until: None, blockers } = fixture.next() else { panic!("{:?}", fixture.next()) };
        assert_eq!(blockers.iter().map(|blocker| blocker.reason.as_str()).collect::<Vec<_>>(), [NOT_LEADING]);
        fixture.epoch = 7;
        assert!(!matches!(fixture.next(), Next::Wait { until: None, .. }), "{phase:?}: {:?}", fixture.next());
    }
}

#[test]
fn a_reason_that_several_guards_have_is_named_once_and_each_reason_is_named() {
    let mut fixture = Fixture::new(steps(&["cordon", "power"]));
    let all = || vec![Blocker::new(NOT_LEADING, ""), Blocker::new(DRY_RUN, "")];
    fixture.guard_blockers = GuardBlockers { isolate: all(), drain: all(), power: all() };
    let expected = vec![Blocker::new(DRY_RUN, ""), Blocker::new(NOT_LEADING, "")];
    assert_eq!(fixture.next(), Next::Wait { until: None, blockers: expected });
}

/// It is off, and turned on next.
fn off() -> Fixture {
    let mut fixture = Fixture::new(steps(&["cordon", "power"]));
    let off = Confirmation {
        at: fixture.now.wall,
        reads: 2,
        by: Vec::new(),
        boot_id: "boot-1".into(),
        already_off: false,
        epoch: 7,
    };
    (fixture.fence.status.phase, fixture.fence.status.off) = (Phase::PoweringOn, Some(off));
    fixture.fence.status.lease_renewed = fixture.kubelet.as_ref().and_then(|lease| lease.renewed);
    fixture.gathered.power = vec![reading(fixture.now.moment, PowerState::Off)];
    fixture
}

fn intends_on(fixture: &Fixture) -> bool {
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { return false };
    fence.status.intent.is_some_and(|intent| intent.op == IntendedOp::PowerOn)
}

/// A budget or a storm does not: a machine that is off is no help.
#[test]
fn few_reasons_keep_a_machine_off() {
    assert!(intends_on(&off()), "{:?}", off().next());
    for (reason, waits) in [
        (NOT_LEADING, true),
        (DRY_RUN, true),
        (CACHE_NOT_SYNCED, true),
        (KILL_SWITCH, true),
        (REMEDIATION_SKIPPED, true),
        (CLAIMED_BY_PEER, true),
        (STORM, false),
        (BUDGET_CLUSTER, false),
    ] {
        for blockers in everywhere(reason) {
            let fixture = Fixture { guard_blockers: blockers, ..off() };
            assert_eq!(intends_on(&fixture), !waits, "{reason}: {:?}", fixture.next());
        }
    }
}

#[test]
fn few_reasons_keep_what_is_our_own_on_the_node() {
    let recovering = || {
        let mut fixture = Fixture::new(steps(&["cordon", "power"]));
        fixture.fence.status.phase = Phase::Recovering;
        fixture.fence.status.own_changes.cordon = true;
        fixture.fence.spec.abort = true;
        fixture
    };
    for (reason, waits) in [
        (NOT_LEADING, true),
        (DRY_RUN, true),
        (CACHE_NOT_SYNCED, true),
        (KILL_SWITCH, true),
        (REMEDIATION_SKIPPED, true),
        (CLAIMED_BY_PEER, false),
        (STORM, false),
        (BUDGET_CLUSTER, false),
    ] {
        for blockers in everywhere(reason) {
            let fixture = Fixture { guard_blockers: blockers, ..recovering() };
            let uncordons =
                matches!(fixture.next(), Next::Act(Action::Perform { op: Op::Reversible(ReversibleOp::Uncordon), .. }));
            assert_eq!(uncordons, !waits, "{reason}: {:?}", fixture.next());
        }
    }
}
