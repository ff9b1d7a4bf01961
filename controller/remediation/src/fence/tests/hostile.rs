//! Cases that an attacker provokes: storage that goes back to a boot which lost its pods, methods that change in
//! between.

use super::{
    course::{at, dead, run},
    fixture::Fixture,
    parts::{plan, pod},
};
use crate::{
    action::{Action, Failed, IrreversibleOp, Op},
    api::{
        OUT_OF_SERVICE,
        fence::{Blocker, Phase},
    },
    facts::{Pod, Volume, VolumeClaim},
    fence::{Next, PredicateState, apply_outcome},
    guard::reason::POD_RATE,
    snapshot::FencePlan,
};

fn ceph_pod() -> Pod {
    let claim = VolumeClaim { storage_class: Some("ceph".into()), ..VolumeClaim::default() };
    Pod { volumes: vec![Volume::Claim(claim)], ..pod("db-0") }
}

fn only_storage() -> FencePlan {
    FencePlan { storage_only: Some("ceph".into()), ..plan() }
}

fn rounds(fixture: &mut Fixture, count: u32, pods: &[Pod]) {
    fixture.listed = Some(pods.to_vec());
    run(fixture, count, |_| false);
}

/// Until its storage is cut off, with the pods that use it on it.
fn cut(fixture: &mut Fixture) {
    fixture.listed = Some(vec![ceph_pod()]);
    run(fixture, 200, at(Phase::OffConfirmed));
    assert_eq!(fixture.phase(), Phase::OffConfirmed, "{:?}", fixture.fence.status);
}

/// Its storage is cut, the release waits for the pod rate, and a person force-deletes the pods meanwhile: their successors
/// run elsewhere, and the boot that ran them still does.
#[test]
fn storage_is_not_restored_to_a_boot_whose_pods_another_client_released() {
    let mut fixture = dead();
    fixture.gathered.methods = Some(Ok(only_storage()));
    fixture.storage = true;
    cut(&mut fixture);
    fixture.guard_blockers.power = vec![Blocker::new(POD_RATE, "other nodes' pods went")];
    rounds(&mut fixture, 30, &[ceph_pod()]);
    assert_eq!((fixture.phase(), fixture.powered), (Phase::OffConfirmed, false));
    fixture.guard_blockers.power.clear();
    rounds(&mut fixture, 30, &[]);
    assert!(!fixture.powered, "{:?}: {:?}", fixture.phase(), fixture.fence.status.log);
}

/// The BMC does not answer; a person configures a storage instead. That the storage reports Off proves nothing of the
/// machine.
#[test]
fn off_by_another_kind_of_method_than_was_intended_releases_nothing() {
    let mut fixture = dead();
    run(&mut fixture, 400, at(Phase::PoweringOff));
    let (op, lost) = (Op::from(IrreversibleOp::PowerOff), Err(Failed::InDoubt("the BMC does not answer".into())));
    let (fence, _) = apply_outcome(&fixture.fence, &op, &lost, fixture.epoch, fixture.now);
    fixture.store(fence);
    assert_eq!((fixture.phase(), fixture.powered), (Phase::InDoubt, true));
    fixture.gathered.methods = Some(Ok(only_storage()));
    fixture.claims_off = true;
    run(&mut fixture, 30, |fixture| fixture.node.as_ref().unwrap().taint(OUT_OF_SERVICE).is_some());
    assert!(fixture.node.as_ref().unwrap().taint(OUT_OF_SERVICE).is_none(), "{:?}", fixture.fence.status.log);
}

/// A label of the Node, which its kubelet sets, chooses the methods: between the intent and the act it chose others.
#[test]
fn an_intent_for_the_power_is_not_carried_out_on_a_storage() {
    let mut fixture = dead();
    run(&mut fixture, 400, at(Phase::PoweringOff));
    fixture.gathered.methods = Some(Ok(only_storage()));
    let next = fixture.next();
    assert!(!matches!(next, Next::Act(Action::Perform { .. })), "{next:?}");
}

/// The Node was tainted and the answer was lost; then the old boot is there again, and its BMC reports On.
#[test]
fn a_bmc_that_lied_is_found_out_by_its_own_word_too() {
    let mut fixture = dead();
    fixture.lies = true;
    run(&mut fixture, 400, |fixture| fixture.phase() == Phase::PodsReleased && fixture.fence.status.intent.is_some());
    let Next::Act(Action::Perform { op, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    fixture.perform(&op).unwrap();
    assert!(fixture.node.as_ref().unwrap().taint(OUT_OF_SERVICE).is_some());
    let lost = Err(Failed::InDoubt("the answer was lost".into()));
    let (fence, _) = apply_outcome(&fixture.fence, &op, &lost, fixture.epoch, fixture.now);
    fixture.store(fence);
    (fixture.alive, fixture.claims_off) = (true, false);
    run(&mut fixture, 60, at(Phase::Quarantined));
    fixture.predicate = PredicateState::No { since: fixture.now.moment };
    let phases = run(&mut fixture, 200, at(Phase::Quarantined));
    assert_eq!(fixture.boots, 1);
    assert_eq!(fixture.phase(), Phase::Quarantined, "{phases:?}: {:?}", fixture.fence.status.log);
}
