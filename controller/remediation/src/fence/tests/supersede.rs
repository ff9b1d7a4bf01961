//! A record gives way to one of another policy: when it may, what it takes back first, and what it leaves.

use std::time::Duration;

use super::{
    course::{at, run},
    fixture::Fixture,
    interrupts::next_phase,
    laws::gave_way,
    parts::steps,
};
use crate::{
    action::{Action, Failed, Op, Outcome, ReversibleOp},
    api::{
        CORDONED_BY, REMEDIATION_TAINT,
        fence::{Blocker, Confirmation, IntendedOp, Intent, Phase},
    },
    facts::{Effect, Taint},
    fence::{Next, PredicateState, apply_outcome, edges::EDGES, may_give_way, out_of_service},
    guard::reason::{BUDGET_CLUSTER, CACHE_NOT_SYNCED, DRY_RUN, NOT_LEADING},
    message::Message,
    time::Moment,
};

/// What is changed, and how.
type NamedChange = (&'static str, fn(&mut Fixture));

/// Its first step is at hand, and there is an heir.
fn isolating() -> Fixture {
    let mut fixture = Fixture::new(steps(&["taint", "cordon"]));
    fixture.fence.status.phase = Phase::Isolating;
    fixture.superseded_by = Some("heir");
    fixture
}

fn taint(key: &str) -> Taint {
    Taint { key: key.into(), value: String::new(), effect: Effect::NoSchedule }
}

fn gives_way(fixture: &Fixture) -> bool {
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { return false };
    fence.status.phase == Phase::Closed && gave_way(&fence)
}

fn store(fixture: &mut Fixture, op: &Op, outcome: &Outcome) {
    let (fence, _) = apply_outcome(&fixture.fence, op, outcome, fixture.epoch, fixture.now);
    fixture.store(fence);
}

#[test]
fn a_record_gives_way_in_the_phases_before_any_power_act_and_while_it_takes_back() {
    let early =
        [Phase::Pending, Phase::Isolating, Phase::Draining, Phase::Waiting, Phase::AwaitGuards, Phase::Recovering];
    for (phase, _) in EDGES {
        for kinds in [&["taint", "cordon"][..], &["cordon", "drain"], &["cordon", "reboot"]] {
            let mut fixture = isolating();
            fixture.fence.spec.steps = steps(kinds);
            fixture.fence.status.phase = *phase;
            assert_eq!(may_give_way(&fixture.fence), early.contains(phase), "{phase:?} {kinds:?}");
            assert_eq!(gives_way(&fixture), early.contains(phase), "{phase:?} {kinds:?}");
            fixture.superseded_by = None;
            assert!(!gives_way(&fixture), "{phase:?} {kinds:?}: there is no heir");
        }
    }
}

#[test]
fn a_record_with_anything_that_only_it_can_bring_to_an_end_stays() {
    let changes: [NamedChange; 18] = [
        ("a person aborted it", |fixture| fixture.fence.spec.abort = true),
        ("a person opened it", |fixture| fixture.fence.spec.policy.clear()),
        ("it cuts the power", |fixture| fixture.fence.spec.steps = steps(&["taint", "power"])),
        ("it reaps", |fixture| fixture.fence.spec.steps = steps(&["taint", "drain", "reap"])),
        ("methods of isolation ran", |fixture| fixture.fence.status.isolated = true),
        ("a release was intended once", |fixture| fixture.fence.status.release_begun = true),
        ("a release is intended", |fixture| {
            let at = fixture.now.wall;
            fixture.fence.status.intent = Some(Intent { op: IntendedOp::Release, epoch: 7, at, pods: 1 });
        }),
        ("it is off", |fixture| {
            fixture.fence.status.off = Some(Confirmation {
                at: fixture.now.wall,
                reads: 2,
                by: Vec::new(),
                boot_id: "boot-1".into(),
                already_off: true,
                epoch: 7,
            });
        }),
        ("its storage is cut", |fixture| fixture.fence.status.storage_only = Some("ceph".into())),
        ("it is given up", |fixture| fixture.fence.status.giving_up = Some(Blocker::new("FalseConfirmation", ""))),
        ("it is left off", |fixture| fixture.fence.status.at_limit = true),
        ("its power was cycled", |fixture| fixture.fence.status.cycles = vec![fixture.now.wall]),
        ("a power cycle was begun", |fixture| fixture.fence.status.cycle_begun = true),
        ("it was ordered off", |fixture| fixture.fence.status.ordered_off = true),
        ("pods were released", |fixture| fixture.fence.status.released_at = Some(fixture.now.wall)),
        ("it is out of service", |fixture| fixture.fence.status.out_of_service = true),
        ("its pods may be deleted", |fixture| fixture.fence.status.own_changes.taints = vec![out_of_service()]),
        ("beside a taint of ours", |fixture| {
            fixture.fence.status.own_changes.taints = vec![taint(REMEDIATION_TAINT), out_of_service()];
        }),
    ];
    for (what, change) in changes {
        for phase in [Phase::Isolating, Phase::Waiting, Phase::Recovering] {
            let mut fixture = isolating();
            fixture.fence.status.phase = phase;
            assert!(may_give_way(&fixture.fence) && gives_way(&fixture), "{phase:?}");
            change(&mut fixture);
            assert!(!may_give_way(&fixture.fence) && !gives_way(&fixture), "{what} in {phase:?}");
        }
    }
}

/// A record that comes next looks for our own key alone.
#[test]
fn a_taint_with_a_key_of_its_own_is_taken_back_first() {
    let mut fixture = isolating();
    let (ours, of_its_own) = (taint(REMEDIATION_TAINT), taint("example.com/gpu-fault"));
    let both = vec![ours.clone(), of_its_own.clone()];
    fixture.node.as_mut().unwrap().taints.clone_from(&both);
    fixture.fence.status.own_changes.taints = both;
    let untaint = Op::Reversible(ReversibleOp::Untaint(of_its_own));
    let is_untainted = |fixture: &Fixture| {
        let Next::Act(Action::Perform { op, .. }) = fixture.next() else { return false };
        op == untaint
    };
    let Next::Act(Action::Save { fence, why }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    assert!(why.message.contains("its taint example.com/gpu-fault is taken back"), "{why:?}");
    fixture.store(*fence);
    assert_eq!(fixture.phase(), Phase::Recovering);
    assert!(is_untainted(&fixture), "{:?}", fixture.next());
    store(&mut fixture, &untaint, &Err(Failed::Timeout(Duration::from_secs(20))));
    fixture.pass(Duration::from_secs(4));
    assert!(matches!(fixture.next(), Next::Wait { until: Some(_), .. }), "{:?}", fixture.next());
    fixture.pass(Duration::from_secs(1));
    assert!(is_untainted(&fixture), "{:?}", fixture.next());
    let outcome = fixture.perform(&untaint);
    store(&mut fixture, &untaint, &outcome);
    assert!(gives_way(&fixture), "{:?}", fixture.next());
    assert_eq!(fixture.node.as_ref().unwrap().taints, [ours]);
    // The heir may not act any more: the node is isolated again.
    fixture.superseded_by = None;
    assert_eq!(next_phase(&fixture), Some(Phase::Pending));
}

/// Nothing of it is to be tried again.
#[test]
fn a_record_with_no_such_taint_waits_for_no_other_try() {
    let mut fixture = isolating();
    let status = &mut fixture.fence.status;
    status.own_changes.taints = vec![taint(REMEDIATION_TAINT)];
    (status.failures, status.last_failure, status.epoch) = (5, Some(fixture.now.wall), 7);
    assert!(gives_way(&fixture), "{:?}", fixture.next());
}

#[test]
fn a_cordon_and_our_taint_stay_on_the_node() {
    let mut fixture = Fixture::new(steps(&["taint", "cordon"]));
    run(&mut fixture, 20, at(Phase::Waiting));
    fixture.superseded_by = Some("heir");
    assert_eq!(run(&mut fixture, 5, at(Phase::Closed)), [Phase::Waiting, Phase::Closed]);
    let node = fixture.node.as_ref().unwrap();
    assert!(node.unschedulable && node.annotations.contains_key(CORDONED_BY), "{node:?}");
    assert_eq!(node.taints, [taint(REMEDIATION_TAINT)]);
    assert!(matches!(fixture.next(), Next::Act(Action::Close { .. })), "{:?}", fixture.next());
}

#[test]
fn what_another_client_set_stays_on_the_node() {
    let mut fixture = isolating();
    let theirs = [Taint { value: "maintenance".into(), ..taint(REMEDIATION_TAINT) }, taint("example.com/gpu-fault")];
    let node = fixture.node.as_mut().unwrap();
    (node.unschedulable, node.taints) = (true, theirs.to_vec());
    assert_eq!(run(&mut fixture, 5, at(Phase::Closed)), [Phase::Isolating, Phase::Closed]);
    let node = fixture.node.as_ref().unwrap();
    assert_eq!((node.unschedulable, &node.taints[..]), (true, &theirs[..]));
}

#[test]
fn the_record_of_a_node_that_is_gone_has_no_heir() {
    let gone = format!("Closed: {}", Message::plain("FenceClosed/gone").text);
    let changes: [NamedChange; 2] = [
        ("another has its name", |fixture| fixture.node.as_mut().unwrap().uid = "uid-2".into()),
        ("it is gone", |fixture| fixture.node = None),
    ];
    for (what, change) in changes {
        let mut fixture = isolating();
        change(&mut fixture);
        let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{what}: {:?}", fixture.next()) };
        assert_eq!(fence.status.log.last().map(|entry| entry.text.as_str()), Some(gone.as_str()), "{what}");
    }
}

/// It would be given back, and what isolates a dead node with it.
#[test]
fn a_record_gives_way_although_its_own_policy_asks_for_nothing_any_more_and_not_after_an_abort() {
    let mut fixture = isolating();
    fixture.predicate = PredicateState::No { since: Moment(Duration::from_secs(900)) };
    assert!(gives_way(&fixture), "{:?}", fixture.next());
    fixture.superseded_by = None;
    assert_eq!(next_phase(&fixture), Some(Phase::Recovering), "it has been healthy for long enough");
    fixture.superseded_by = Some("heir");
    fixture.fence.spec.abort = true;
    assert_eq!(next_phase(&fixture), Some(Phase::Recovering));
}

/// The heir's guards were asked; its own forbid what is begun, and nothing of it is.
#[test]
fn a_record_gives_way_whatever_blocks_its_own_steps_but_where_it_may_not_be_written() {
    let blocked = |reason: &str| {
        let mut fixture = isolating();
        fixture.guard_blockers.isolate = vec![Blocker::new(reason, "")];
        fixture.guard_blockers.power = vec![Blocker::new(reason, "")];
        fixture
    };
    assert!(gives_way(&blocked(BUDGET_CLUSTER)));
    for reason in [NOT_LEADING, DRY_RUN, CACHE_NOT_SYNCED] {
        let next = blocked(reason).next();
        assert!(matches!(next, Next::Wait { .. }), "{reason}: {next:?}");
    }
    let mut fixture = isolating();
    fixture.policy = None;
    assert!(gives_way(&fixture), "its policy is gone: {:?}", fixture.next());
    fixture.epoch = 0;
    assert!(matches!(fixture.next(), Next::Wait { .. }), "{:?}", fixture.next());
}
