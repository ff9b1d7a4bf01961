//! What comes in late, twice or out of order.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use nodewell_remediation::{
    api::{Meta, fence::NodeFence},
    facts::{Condition, LeaseView, Node, Truth},
    time::Moment,
};

use super::*;

fn world() -> World {
    World::new(Clock::counted(Timestamp::UNIX_EPOCH), Limits::default())
}

pub(super) fn node(status: Truth) -> Node {
    Node {
        name: "a".into(),
        uid: "1".into(),
        resource_version: "1".into(),
        conditions: vec![Condition { kind: "Ready".into(), status, ..Condition::default() }],
        ..Node::default()
    }
}

fn lease(renewed: i64) -> LeaseView {
    LeaseView {
        resource_version: String::new(),
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

pub(super) async fn pass(secs: u64) {
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

#[tokio::test(start_paused = true)]
async fn a_dump_is_known_of_a_node_in_hand_under_any_leader() {
    let world = world();
    let dumping = |world: &World| world.with(|snapshot| snapshot.cases.get("a").and_then(|case| case.dumping));
    world.dumps("a");
    world.apply_fence(fence("1", "1"));
    assert_eq!(dumping(&world), None, "no Node has that name");
    world.apply_node(node(Truth::Unknown));
    pass(5).await;
    world.dumps("a");
    assert_eq!(dumping(&world), Some(Moment(Duration::from_secs(5))));
    world.with(|snapshot| snapshot.cases.clear());
    assert_eq!(dumping(&world), Some(Moment(Duration::from_secs(5))), "another term begins with it");
    world.remove_fence("a", "1");
    world.keep_cases(&BTreeMap::new());
    assert_eq!(dumping(&world), None);
    world.apply_fence(fence("2", "2"));
    pass(200).await;
    assert_eq!(dumping(&world), None, "it is over long ago");
}

#[tokio::test(start_paused = true)]
async fn what_we_read_or_wrote_ourselves_is_no_word_of_the_watch() {
    let informed = |world: &World| world.with(|snapshot| snapshot.host.informed);
    for late in [21, 151] {
        let world = world();
        for source in [Source::Nodes, Source::KubeletLeases, Source::Fences, Source::Policies] {
            world.listed(source, &BTreeSet::from(["a".to_owned()]));
        }
        pass(late).await;
        world.apply_lease(LeaseKind::Kubelet, "a", lease(1000));
        world.apply_node(node(Truth::True));
        world.apply_fence(fence("1", "12"));
        assert!(!informed(&world), "{late} s without a word");
        for source in [Source::Nodes, Source::KubeletLeases, Source::Fences, Source::Policies] {
            world.heard(source);
        }
        assert!(informed(&world));
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_a_read_has_overtaken_is_no_renewal() {
    let world = world();
    let version = |version: &str, renewed| LeaseView { resource_version: version.into(), ..lease(renewed) };
    world.apply_lease(LeaseKind::Kubelet, "a", version("10", 1000));
    pass(2).await;
    world.apply_lease(LeaseKind::Kubelet, "a", version("30", 1020));
    pass(15).await;
    world.apply_lease(LeaseKind::Kubelet, "a", version("20", 1010));
    let known = |world: &World| world.with(|snapshot| snapshot.kubelet_leases["a"].clone());
    let stale = |world: &World| known(world).stale_for(world.clock.moment()).as_secs();
    assert_eq!((stale(&world), known(&world).resource_version.as_str()), (15, "30"));
    world.apply_lease(LeaseKind::Kubelet, "a", version("40", 900));
    assert_eq!(stale(&world), 0, "the version decides, not the holder's clock");
    pass(20).await;
    world.apply_lease(LeaseKind::Kubelet, "a", version("7", 910));
    assert_eq!(stale(&world), 0, "a store that was set back has older versions only");
}

#[test]
fn the_mistakes_of_a_policy_are_news_once() {
    let mut snapshot = Snapshot::default();
    assert!(snapshot.add_unreadable("p", "line 1".into()));
    assert!(!snapshot.add_unreadable("p", "line 1".into()), "a list of the same");
    assert!(snapshot.add_unreadable("p", "line 2".into()));
    assert_eq!(snapshot.unreadable_policies["p"], "line 2");
}
