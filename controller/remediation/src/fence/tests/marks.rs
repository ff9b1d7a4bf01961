//! The out-of-service taint: when it is void, when it may go, and what keeps it from being set.

use std::time::Duration;

use super::{
    course::{at, dead, run},
    fixture::{Fixture, NODE},
    parts::{plan, reading},
};
use crate::{
    action::{Action, Failed, IrreversibleOp, Op, ReversibleOp},
    api::{
        OUT_OF_SERVICE,
        fence::{Blocker, IntendedOp, Phase},
    },
    facts::{Attachment, ConditionStatus},
    fence::{Next, PredicateState, apply_outcome, levels},
    guard::reason::{
        CACHE_NOT_SYNCED, CLAIMED_BY_PEER, CONTROLLER_ISOLATED, DRY_RUN, KILL_SWITCH, NOT_LEADING, OBSERVE, POD_RATE,
        PODS_UNKNOWN, REMEDIATION_SKIPPED,
    },
    snapshot::{FencePlan, Level, OffRun, PowerState},
};

/// What is changed, and how.
type NamedChange = (&'static str, fn(&mut Fixture));

fn is_untaint(next: &Next) -> bool {
    matches!(
        next,
        Next::Act(Action::Perform { op: Op::Reversible(ReversibleOp::Untaint(taint)), .. })
            if taint.key == OUT_OF_SERVICE
    )
}

fn attachment(node: &str) -> Attachment {
    Attachment { name: "va".into(), node: node.into(), volume: "data".into(), attached: true }
}

/// Its machine is up again, and its record is about to take back what is its own.
fn up_again() -> Fixture {
    let mut fixture = dead();
    run(&mut fixture, 400, at(Phase::AwaitReady));
    fixture.predicate = PredicateState::No { since: fixture.now.moment };
    run(&mut fixture, 400, at(Phase::Recovering));
    fixture.pass(Duration::from_secs(1));
    assert!(fixture.fence.status.off.is_some() && is_untaint(&fixture.next()), "{:?}", fixture.next());
    fixture
}

#[test]
fn the_taint_stays_while_volumes_are_attached_or_it_is_not_known_whether_they_are() {
    let fixture = up_again();
    let now = fixture.now.moment;
    let before = crate::time::Moment(fixture.entered.0 - Duration::from_millis(1));
    let tables = [
        (Some((now, Vec::new())), None),
        (Some((fixture.entered, Vec::new())), None),
        (Some((now, vec![attachment("worker-2")])), None),
        (Some((now, vec![attachment(NODE)])), Some("AttachmentsLeft")),
        (Some((now, vec![attachment("worker-2"), attachment(NODE)])), Some("AttachmentsLeft")),
        (Some((before, Vec::new())), Some("AttachmentsUnknown")),
        (None, Some("AttachmentsUnknown")),
    ];
    for (attachments, reason) in tables {
        let mut fixture = fixture.clone();
        fixture.gathered.attachments = attachments.clone();
        let next = fixture.next();
        assert_eq!(is_untaint(&next), reason.is_none(), "{attachments:?}: {next:?}");
        let Some(reason) = reason else { continue };
        let (_, blockers) = fixture.blocked();
        assert!(blockers.iter().any(|blocker| blocker.reason == reason), "{blockers:?}");
    }
}

#[test]
fn the_taint_stays_until_another_boot_is_ready_and_speaks() {
    let changes: [NamedChange; 4] = [
        ("not Ready", |fixture| fixture.node.as_mut().unwrap().conditions[0].status = ConditionStatus::False),
        ("the boot that ended", |fixture| fixture.node.as_mut().unwrap().boot_id = "boot-1".into()),
        ("no boot is known", |fixture| fixture.node.as_mut().unwrap().boot_id.clear()),
        ("silent", |fixture| fixture.kubelet = None),
    ];
    for (what, change) in changes {
        let mut fixture = up_again();
        change(&mut fixture);
        assert!(!is_untaint(&fixture.next()), "{what}: {:?}", fixture.next());
    }
}

/// The release was intended and not begun, and then a person aborted: its pods run there again, with their volumes.
#[test]
fn a_taint_that_was_never_set_waits_for_no_volumes() {
    let mut fixture = up_again();
    fixture.gathered.attachments = Some((fixture.now.moment, vec![attachment(NODE)]));
    fixture.node.as_mut().unwrap().taints.retain(|taint| taint.key != OUT_OF_SERVICE);
    (fixture.fence.status.out_of_service, fixture.fence.status.released_at) = (false, None);
    assert!(is_untaint(&fixture.next()), "{:?}", fixture.next());
    let old_copies: [NamedChange; 5] = [
        ("the boot that ended", |fixture| fixture.node.as_mut().unwrap().boot_id = "boot-1".into()),
        ("no boot is known", |fixture| fixture.node.as_mut().unwrap().boot_id.clear()),
        ("which boot was to end is not known", |fixture| fixture.fence.status.off = None),
        ("it was set", |fixture| fixture.fence.status.out_of_service = true),
        ("pods were released", |fixture| fixture.fence.status.released_at = Some(fixture.now.wall)),
    ];
    for (what, change) in old_copies {
        let mut fixture = fixture.clone();
        change(&mut fixture);
        assert!(!is_untaint(&fixture.next()), "{what}: {:?}", fixture.next());
    }
}

/// The Node was tainted, and then its BMC reports On.
fn tainted_and_on(phase: Phase) -> Fixture {
    let mut fixture = dead();
    run(&mut fixture, 400, |fixture| {
        fixture.fence.status.intent.as_ref().is_some_and(|it| it.op == IntendedOp::Release)
    });
    let Next::Act(Action::Perform { op, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    fixture.perform(&op).unwrap();
    let lost = Err(Failed::InDoubt("the answer was lost".into()));
    let (fence, _) = apply_outcome(&fixture.fence, &op, &lost, fixture.epoch, fixture.now);
    fixture.store(fence);
    fixture.fence.status.phase = phase;
    fixture.fence.status.intent = None;
    fixture.fence.status.off = None;
    (fixture.alive, fixture.powered) = (false, true);
    fixture
}

/// Whatever else speaks against an act, and however often acts failed lately: it deletes pods for as long as it is there.
#[test]
fn a_taint_that_is_void_goes_first() {
    for phase in [Phase::AwaitGuards, Phase::Failed] {
        let mut fixture = tainted_and_on(phase);
        assert!(fixture.node.as_ref().unwrap().taint(OUT_OF_SERVICE).is_some());
        assert!(is_untaint(&fixture.next()), "{phase:?}: {:?}", fixture.next());
        fixture.guard_blockers.power = vec![Blocker::new("BudgetCluster", "1 of 1")];
        assert!(is_untaint(&fixture.next()), "{phase:?}: {:?}", fixture.next());
        run(&mut fixture, 2, |_| false);
        assert!(fixture.node.as_ref().unwrap().taint(OUT_OF_SERVICE).is_none(), "{phase:?}");
    }
}

#[test]
fn on_after_off_voids_the_confirmation_in_each_phase_of_a_release() {
    for phase in [Phase::OffConfirmed, Phase::PodsReleased] {
        let mut fixture = dead();
        run(&mut fixture, 400, at(phase));
        fixture.fence.status.intent = None;
        fixture.now.moment = fixture.now.moment.plus(Duration::from_secs(1));
        fixture.now.wall += Duration::from_secs(1);
        let at = fixture.now.moment;
        fixture.gathered.power.push(reading(at, PowerState::On));
        let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
        assert_eq!((fence.status.phase, &fence.status.off), (Phase::AwaitGuards, &None), "{phase:?}");
        // As late as its answer came, however early it was asked for.
        fixture.gathered.power.pop();
        fixture.gathered.last_on_answer = Some(at);
        let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
        assert_eq!((fence.status.phase, fence.status.off), (Phase::AwaitGuards, None), "{phase:?}");
    }
}

/// Means to release its pods from now on, or begins with it.
fn goes_on(fixture: &Fixture) -> bool {
    match fixture.next() {
        Next::Act(Action::Save { fence, .. }) => {
            let intends = fence.status.intent.is_some_and(|intent| intent.op == IntendedOp::Release);
            intends && fixture.fence.status.intent.is_none()
        }
        Next::Act(Action::Perform { op, .. }) => matches!(op, Op::Irreversible(IrreversibleOp::Release { .. })),
        Next::Act(Action::Open(_) | Action::Close { .. }) | Next::Wait { .. } => false,
    }
}

/// Before it is intended, and again before it is begun.
#[test]
fn each_reason_that_forbids_a_release_forbids_it_alone() {
    let reasons = [
        NOT_LEADING,
        DRY_RUN,
        CACHE_NOT_SYNCED,
        KILL_SWITCH,
        REMEDIATION_SKIPPED,
        CLAIMED_BY_PEER,
        POD_RATE,
        PODS_UNKNOWN,
        OBSERVE,
        CONTROLLER_ISOLATED,
    ];
    for phase in [Phase::OffConfirmed, Phase::PodsReleased] {
        let mut fixture = dead();
        run(&mut fixture, 400, at(phase));
        fixture.look();
        assert!(goes_on(&fixture), "{phase:?}: {:?}", fixture.next());
        for reason in reasons {
            let mut fixture = fixture.clone();
            fixture.guard_blockers.power = vec![Blocker::new(reason, "")];
            assert!(!goes_on(&fixture), "{phase:?} {reason}");
        }
        let unread: [NamedChange; 4] = [
            ("pods that were not listed", |fixture| fixture.gathered.pods = None),
            ("an old list of pods", |fixture| {
                fixture.gathered.pods.as_mut().unwrap().0 =
                    crate::time::Moment(fixture.now.moment.0 - Duration::from_secs(11));
            }),
            ("no term", |fixture| fixture.epoch = 0),
            ("a Lease that is gone, of a Node that is Ready", |fixture| {
                fixture.kubelet = None;
                fixture.node.as_mut().unwrap().conditions[0].status = ConditionStatus::True;
            }),
        ];
        for (what, change) in unread {
            let mut fixture = fixture.clone();
            change(&mut fixture);
            assert!(!goes_on(&fixture), "{phase:?} {what}: {:?}", fixture.next());
        }
    }
}

#[test]
fn another_boot_than_the_one_that_ended_is_fenced_again() {
    let mut fixture = dead();
    run(&mut fixture, 400, at(Phase::OffConfirmed));
    fixture.look();
    fixture.node.as_mut().unwrap().boot_id = "boot-2".into();
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    assert_eq!((fence.status.phase, fence.status.off, fence.status.intent), (Phase::AwaitGuards, None, None));
}

/// It was found out before the release, or a restored record has forgotten that it was.
#[test]
fn nothing_is_released_by_a_level_that_is_denied() {
    let denials: [NamedChange; 2] = [
        ("this leader saw it", |fixture| {
            let run = OffRun {
                since: Default::default(),
                boot: String::new(),
                last_renewal: None,
                is_contradicted: true,
                methods: Vec::new(),
            };
            fixture.gathered.off_runs = [(Level::FIRST, run)].into();
        }),
        ("the record has it", |fixture| fixture.fence.status.denied_methods = ["ipmi".to_owned()].into()),
    ];
    let mut confirmed = dead();
    run(&mut confirmed, 400, at(Phase::OffConfirmed));
    confirmed.look();
    for (what, change) in denials {
        let mut fixture = confirmed.clone();
        change(&mut fixture);
        run(&mut fixture, 60, |_| false);
        assert_eq!((fixture.phase(), &fixture.fence.status.off), (Phase::AwaitGuards, &None), "{what}");
        assert!(fixture.fence.status.is_blocked_by("FenceNotReady"), "{what}: {:?}", fixture.fence.status.blocked_by);
        assert!(fixture.node.as_ref().unwrap().taint(OUT_OF_SERVICE).is_none(), "{what}");
    }
    // A switch that keeps a node off its storage is right to report Off of a machine that runs.
    confirmed.fence.status.denied_methods = ["ipmi".to_owned()].into();
    confirmed.gathered.methods = Some(Ok(FencePlan { storage_only: Some("ceph".into()), ..plan() }));
    assert!(!levels::is_denied(&confirmed.input(), Level::FIRST));
}
