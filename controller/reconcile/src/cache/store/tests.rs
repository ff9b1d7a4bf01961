//! Lists and reads of a store that went back, and of one that did not.

use std::{collections::BTreeSet, time::Duration};

use jiff::Timestamp;
use nodewell_remediation::{
    api::{Meta, fence::NodeFence},
    facts::{ConditionStatus, LeaseView, Node},
};
use tokio::time::timeout;

use super::{
    super::{Cache, Limits, Source, tests},
    ALL,
};
use crate::{clock::Clock, cluster::LeaseKind};

fn cache() -> Cache {
    let cache = Cache::new(Clock::counted(Timestamp::UNIX_EPOCH), Limits::default());
    for source in ALL {
        list(&cache, source, "10", |_| {});
    }
    cache
}

/// A whole list of what `objects` applies, all of node `a`.
fn list(cache: &Cache, source: Source, version: &str, objects: impl FnOnce(&Cache)) {
    cache.ask_list(source, "");
    end_list(cache, source, version, objects);
}

fn end_list(cache: &Cache, source: Source, version: &str, objects: impl FnOnce(&Cache)) {
    cache.list_began(source, version);
    objects(cache);
    cache.listed(source, &BTreeSet::from(["a".to_owned()]));
}

fn node(version: u64) -> Node {
    Node { resource_version: version.to_string(), ..tests::node(ConditionStatus::Unknown) }
}

fn fence(uid: &str, version: u64) -> NodeFence {
    let metadata = Meta { name: "a".into(), uid: uid.into(), resource_version: version.to_string(), ..Meta::default() };
    NodeFence { metadata, spec: Default::default(), status: Default::default() }
}

fn known(cache: &Cache) -> Option<String> {
    cache.with(|snapshot| snapshot.nodes.get("a").map(|node| node.resource_version.clone()))
}

fn record(cache: &Cache) -> Option<String> {
    cache.with(|snapshot| snapshot.fences.get("a").map(|fence| fence.metadata.resource_version.clone()))
}

fn synced(cache: &Cache) -> bool {
    cache.with(|snapshot| snapshot.host.synced)
}

async fn wants_lists(cache: &Cache) -> Vec<Source> {
    let mut wanted = Vec::new();
    for source in ALL {
        if timeout(Duration::ZERO, cache.relist_wanted(source)).await.is_ok() {
            wanted.push(source);
        }
    }
    wanted
}

#[tokio::test(start_paused = true)]
async fn a_list_that_goes_back_is_the_truth_and_everything_else_is_listed_too() {
    let cache = cache();
    cache.apply_node(node(50));
    cache.apply_fence(fence("1", 52));
    tests::pass(30).await;
    list(&cache, Source::Nodes, "40", |cache| cache.list_node(node(35)));
    assert_eq!(known(&cache).as_deref(), Some("35"));
    let seen = cache.with(|snapshot| snapshot.nodes["a"].condition("Ready").unwrap().change_seen_at.0.as_secs());
    assert_eq!(seen, 30, "it is seen for the first time");
    assert!(!synced(&cache), "nothing is concluded from the other sources");
    let rest = [Source::KubeletLeases, Source::AgentLeases, Source::Fences, Source::Policies];
    assert_eq!(wants_lists(&cache).await, rest);
    let unread = cache.with(|snapshot| snapshot.host.unread.clone()).unwrap();
    assert!(unread.contains("Fences") && !unread.contains("Nodes"), "{unread}");
    for source in rest {
        list(&cache, source, "41", |cache| {
            if source == Source::Fences {
                cache.list_fence(fence("1", 33))
            }
        });
    }
    assert!(synced(&cache));
    assert_eq!((record(&cache).as_deref(), wants_lists(&cache).await.len()), (Some("33"), 0));
    assert_eq!((cache.set_backs(), cache.resets()["nodes"], cache.resets()["nodefences"]), (1, 1, 1));
    assert_eq!(cache.with(|snapshot| snapshot.host.unread.clone()), None);
}

#[tokio::test(start_paused = true)]
async fn an_older_object_in_a_list_that_is_not_older_is_of_another_store() {
    let cache = cache();
    cache.apply_node(node(50));
    list(&cache, Source::Nodes, "1000000040", |cache| cache.list_node(node(35)));
    assert!(!synced(&cache), "what was listed into the old cache is listed again");
    assert!(wants_lists(&cache).await.contains(&Source::Nodes));
    list(&cache, Source::Nodes, "1000000041", |cache| cache.list_node(node(35)));
    assert_eq!((known(&cache).as_deref(), cache.set_backs()), (Some("35"), 1));
    assert!(!wants_lists(&cache).await.contains(&Source::Nodes));
}

#[tokio::test(start_paused = true)]
async fn a_record_that_was_deleted_is_back() {
    let cache = cache();
    cache.apply_fence(fence("1", 52));
    cache.remove_fence("a", "1");
    cache.ask_list(Source::Fences, "53");
    end_list(&cache, Source::Fences, "1000000040", |cache| cache.list_fence(fence("1", 33)));
    assert_eq!(cache.set_backs(), 1);
    list(&cache, Source::Fences, "1000000041", |cache| cache.list_fence(fence("1", 33)));
    assert_eq!(record(&cache).as_deref(), Some("33"));
}

/// A person may annotate it before it is listed: then it is newer than the one that was deleted.
#[tokio::test(start_paused = true)]
async fn a_record_that_was_deleted_is_back_also_when_it_was_changed_since() {
    let cache = cache();
    cache.apply_fence(fence("1", 52));
    cache.remove_fence("a", "1");
    list(&cache, Source::AgentLeases, "5", |_| {});
    list(&cache, Source::Fences, "61", |cache| cache.list_fence(fence("1", 60)));
    assert_eq!((record(&cache).as_deref(), cache.set_backs()), (Some("60"), 1));
}

#[tokio::test(start_paused = true)]
async fn what_comes_while_a_list_is_under_way_is_no_sign() {
    let cache = cache();
    cache.apply_fence(fence("1", 20));
    for source in [Source::Nodes, Source::Fences] {
        cache.ask_list(source, "30");
    }
    // A read, a write's answer and a deletion overtake the lists.
    cache.apply_node(node(50));
    cache.remove_fence("a", "1");
    end_list(&cache, Source::Nodes, "40", |cache| cache.list_node(node(35)));
    end_list(&cache, Source::Fences, "40", |cache| cache.list_fence(fence("1", 20)));
    assert_eq!((known(&cache).as_deref(), record(&cache), cache.set_backs()), (Some("50"), None, 0));
    assert!(synced(&cache));
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_had_come_further_than_the_list_tells_of_it() {
    let cache = cache();
    cache.ask_list(Source::Policies, "70");
    end_list(&cache, Source::Policies, "60", |_| {});
    assert_eq!(cache.set_backs(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_list_from_before_the_store_was_seen_to_have_gone_back_is_void() {
    let cache = cache();
    cache.apply_node(node(50));
    cache.ask_list(Source::KubeletLeases, "");
    list(&cache, Source::Nodes, "40", |cache| cache.list_node(node(35)));
    end_list(&cache, Source::KubeletLeases, "55", |_| {});
    assert!(wants_lists(&cache).await.contains(&Source::KubeletLeases));
}

#[tokio::test(start_paused = true)]
async fn a_read_of_an_older_object_than_was_known_tells_of_it() {
    let cache = cache();
    cache.apply_fence(fence("1", 52));
    let mark = cache.mark(Source::Fences, "a");
    cache.apply_fence(fence("1", 60));
    cache.compare(&mark, "1", "55");
    assert_eq!(cache.set_backs(), 0, "it was overtaken");
    let mark = cache.mark(Source::Fences, "a");
    cache.compare(&mark, "1", "33");
    assert_eq!((cache.set_backs(), wants_lists(&cache).await.len()), (1, 5));
    cache.compare(&mark, "1", "33");
    assert_eq!(cache.set_backs(), 1, "it is reported once");
    let lease = LeaseView {
        resource_version: "33".into(),
        holder: "a".into(),
        renewed: None,
        duration: Duration::from_secs(40),
        change_seen_at: Default::default(),
    };
    list(&cache, Source::KubeletLeases, "44", |cache| cache.list_lease(LeaseKind::Kubelet, "a", lease));
    assert_eq!(cache.set_backs(), 1);
}

/// To delete an object that has a finalizer is to mark it: the server answers 200, and lists still have it, now newer.
#[tokio::test(start_paused = true)]
async fn a_record_that_a_finalizer_keeps_is_no_store_that_went_back() {
    let cache = cache();
    cache.apply_fence(fence("1", 52));
    for round in 0..3 {
        // What `close` does when the server reports that it is deleted.
        cache.remove_fence("a", "1");
        list(&cache, Source::Fences, &(60 + round).to_string(), |cache| cache.list_fence(fence("1", 53)));
        list(&cache, Source::Fences, &(60 + round).to_string(), |cache| cache.list_fence(fence("1", 53)));
    }
    assert_eq!(cache.set_backs(), 0, "each ends the leader's term");
}

/// The same by a read, as after a new record of its name was refused because this one is there.
#[tokio::test(start_paused = true)]
async fn a_read_of_a_record_that_a_finalizer_keeps_is_no_store_that_went_back() {
    let cache = cache();
    cache.apply_fence(fence("1", 52));
    cache.remove_fence("a", "1");
    let mark = cache.mark(Source::Fences, "a");
    cache.compare(&mark, "1", "53");
    assert_eq!(cache.set_backs(), 0);
}
