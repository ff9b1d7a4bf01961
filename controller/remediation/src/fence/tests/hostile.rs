//! Cases that an attacker provokes: storage that goes back to a boot which lost its pods, methods that change in
//! between.

use super::{
    course::{at, dead, run},
    parts::{plan, pod},
    world::World,
};
use crate::{
    action::{Action, Failed, IrreversibleOp, Op},
    api::{
        OUT_OF_SERVICE,
        fence::{Blocker, Phase},
    },
    facts::{Claim, Pod, Volume},
    fence::{Next, Wanted, absorb},
    guard::reason::POD_RATE,
    snapshot::FencePlan,
};

fn ceph_pod() -> Pod {
    let claim = Claim { storage_class: Some("ceph".into()), ..Claim::default() };
    Pod { volumes: vec![Volume::Claim(claim)], ..pod("db-0") }
}

fn only_storage() -> FencePlan {
    FencePlan { storage_only: Some("ceph".into()), ..plan() }
}

fn rounds(world: &mut World, count: u32, pods: &[Pod]) {
    world.listed = Some(pods.to_vec());
    run(world, count, |_| false);
}

/// Until its storage is cut off, with the pods that use it on it.
fn cut(world: &mut World) {
    world.listed = Some(vec![ceph_pod()]);
    run(world, 200, at(Phase::OffConfirmed));
    assert_eq!(world.phase(), Phase::OffConfirmed, "{:?}", world.fence.status);
}

/// Its storage is cut, the release waits for the pod rate, and a person force-deletes the pods meanwhile: their successors
/// run elsewhere, and the boot that ran them still does.
#[test]
fn storage_is_not_given_back_to_a_boot_whose_pods_another_client_released() {
    let mut world = dead();
    world.gathered.methods = Some(Ok(only_storage()));
    world.storage = true;
    cut(&mut world);
    world.permits.power = vec![Blocker::new(POD_RATE, "other nodes' pods went")];
    rounds(&mut world, 30, &[ceph_pod()]);
    assert_eq!((world.phase(), world.powered), (Phase::OffConfirmed, false));
    world.permits.power.clear();
    rounds(&mut world, 30, &[]);
    assert!(!world.powered, "{:?}: {:?}", world.phase(), world.fence.status.journal);
}

/// The BMC does not answer; a person configures a storage instead. That the storage reports Off proves nothing of the
/// machine.
#[test]
fn off_by_another_kind_of_method_than_was_meant_releases_nothing() {
    let mut world = dead();
    run(&mut world, 400, at(Phase::PoweringOff));
    let (op, lost) = (Op::from(IrreversibleOp::PowerOff), Err(Failed::InDoubt("the BMC does not answer".into())));
    let (fence, _) = absorb(&world.fence, &op, &lost, world.epoch, world.now);
    world.store(fence);
    assert_eq!((world.phase(), world.powered), (Phase::InDoubt, true));
    world.gathered.methods = Some(Ok(only_storage()));
    world.claims_off = true;
    run(&mut world, 30, |world| world.node.as_ref().unwrap().taint(OUT_OF_SERVICE).is_some());
    assert!(world.node.as_ref().unwrap().taint(OUT_OF_SERVICE).is_none(), "{:?}", world.fence.status.journal);
}

/// A label of the Node, which its kubelet sets, chooses the methods: between the intent and the act it chose others.
#[test]
fn an_intent_for_the_power_is_not_carried_out_on_a_storage() {
    let mut world = dead();
    run(&mut world, 400, at(Phase::PoweringOff));
    world.gathered.methods = Some(Ok(only_storage()));
    let next = world.next();
    assert!(!matches!(next, Next::Act(Action::Perform { .. })), "{next:?}");
}

/// The Node was tainted and the answer was lost; then the old boot is there again, and its BMC reports On.
#[test]
fn a_bmc_that_lied_is_found_out_by_its_own_word_too() {
    let mut world = dead();
    world.lies = true;
    run(&mut world, 400, |world| world.phase() == Phase::PodsReleased && world.fence.status.intent.is_some());
    let Next::Act(Action::Perform { op, .. }) = world.next() else { panic!("{:?}", world.next()) };
    world.perform(&op).unwrap();
    assert!(world.node.as_ref().unwrap().taint(OUT_OF_SERVICE).is_some());
    let lost = Err(Failed::InDoubt("the answer was lost".into()));
    let (fence, _) = absorb(&world.fence, &op, &lost, world.epoch, world.now);
    world.store(fence);
    (world.alive, world.claims_off) = (true, false);
    run(&mut world, 60, at(Phase::Quarantined));
    world.wanted = Wanted::No { since: world.now.moment };
    let phases = run(&mut world, 200, at(Phase::Quarantined));
    assert_eq!(world.boots, 1);
    assert_eq!(world.phase(), Phase::Quarantined, "{phases:?}: {:?}", world.fence.status.journal);
}
