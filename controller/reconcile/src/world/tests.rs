use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use nodewell_remedy::{
    api::{Meta, fence::NodeFence},
    facts::{Condition, LeaseView, Node, Truth},
    time::Moment,
};

use super::*;

fn world() -> World {
    World::new(Clock::counted(Timestamp::UNIX_EPOCH), Limits::default())
}

fn node(status: Truth) -> Node {
    Node {
        name: "a".into(),
        uid: "1".into(),
        resource_version: "1".into(),
        created: Timestamp::UNIX_EPOCH,
        deleting: false,
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        taints: Vec::new(),
        unschedulable: false,
        provider_id: String::new(),
        conditions: vec![Condition {
            kind: "Ready".into(),
            status,
            reason: String::new(),
            message: String::new(),
            since: None,
            heartbeat: None,
            seen: Moment::default(),
        }],
        boot_id: String::new(),
        system_uuid: String::new(),
        addresses: Vec::new(),
        volumes_attached: 0,
    }
}

fn lease(renewed: i64) -> LeaseView {
    LeaseView {
        holder: "a".into(),
        renewed: Some(Timestamp::constant(renewed, 0)),
        duration: Duration::from_secs(40),
        seen: Moment::default(),
    }
}

fn fence(uid: &str, version: &str) -> NodeFence {
    let metadata = Meta { name: "a".into(), uid: uid.into(), resource_version: version.into(), ..Meta::default() };
    NodeFence { metadata, spec: Default::default(), status: Default::default() }
}

fn ready_since(world: &World) -> Duration {
    world.with(|snapshot| snapshot.nodes["a"].condition("Ready").expect("it was applied").seen.0)
}

async fn pass(secs: u64) {
    tokio::time::advance(Duration::from_secs(secs)).await;
}

#[tokio::test(start_paused = true)]
async fn a_status_is_as_old_as_we_have_seen_it() {
    let world = world();
    pass(5).await;
    world.apply_node(node(Truth::True));
    pass(5).await;
    world.apply_node(node(Truth::True));
    assert_eq!(ready_since(&world), Duration::from_secs(5));
    world.apply_node(node(Truth::Unknown));
    assert_eq!(ready_since(&world), Duration::from_secs(10));
    let again = Node { uid: "2".into(), ..node(Truth::Unknown) };
    pass(5).await;
    world.apply_node(again);
    assert_eq!(ready_since(&world), Duration::from_secs(15), "another Node of the name is seen for the first time");
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_fresh_when_it_moves_whatever_it_says() {
    let world = world();
    world.apply_lease(LeaseKind::Kubelet, "a", lease(1000));
    pass(7).await;
    world.apply_lease(LeaseKind::Kubelet, "a", lease(1000));
    let stale = |world: &World, now: u64| {
        world.with(|snapshot| snapshot.kubelet_leases["a"].stale_for(Moment(Duration::from_secs(now))).as_secs())
    };
    assert_eq!(stale(&world, 7), 7, "a list of the same is no renewal");
    world.apply_lease(LeaseKind::Kubelet, "a", lease(900));
    assert_eq!(stale(&world, 7), 0, "a clock set back is a renewal all the same");
}

#[tokio::test(start_paused = true)]
async fn an_older_record_does_not_replace_the_written_one() {
    let world = world();
    world.apply_fence(fence("1", "12"));
    world.apply_fence(fence("1", "9"));
    assert_eq!(world.with(|snapshot| snapshot.fences["a"].metadata.resource_version.clone()), "12");
    world.remove_fence("a", "0");
    assert!(world.with(|snapshot| snapshot.fences.contains_key("a")), "another record of the name was meant");
    world.remove_fence("a", "1");
    world.listed(Source::Fences, &BTreeSet::new());
    world.apply_fence(fence("1", "12"));
    assert!(world.with(|snapshot| snapshot.fences.is_empty()), "a late event does not bring it back");
}

#[tokio::test(start_paused = true)]
async fn who_hears_nothing_is_not_informed() {
    let world = world();
    let informed = |world: &World| world.with(|snapshot| snapshot.host.informed);
    let none = BTreeSet::new();
    for source in [Source::Nodes, Source::KubeletLeases, Source::Fences] {
        world.listed(source, &none);
    }
    assert!(!informed(&world), "policies were never listed");
    world.listed(Source::Policies, &none);
    assert!(informed(&world));
    pass(21).await;
    assert!(!informed(&world), "two rounds of every kubelet went by");
    world.heard(Source::KubeletLeases);
    assert!(informed(&world));
    world.lost(Source::Nodes);
    world.heard(Source::Nodes);
    assert!(!informed(&world), "a broken watch is complete only after the next list");
}
