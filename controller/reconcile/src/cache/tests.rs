//! What comes in late, twice or out of order.

mod changes;

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use nodewell_remediation::{
    api::{Meta, fence::NodeFence},
    facts::{Condition, ConditionStatus, LeaseView, Node},
    time::Moment,
};

use super::*;

fn cache() -> Cache {
    Cache::new(Clock::counted(Timestamp::UNIX_EPOCH), Limits::default())
}

pub(super) fn node(status: ConditionStatus) -> Node {
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
        change_seen_at: Moment::default(),
    }
}

fn fence(uid: &str, version: &str) -> NodeFence {
    let metadata = Meta { name: "a".into(), uid: uid.into(), resource_version: version.into(), ..Meta::default() };
    NodeFence { metadata, spec: Default::default(), status: Default::default() }
}

fn ready_since(cache: &Cache) -> Duration {
    cache.with(|snapshot| snapshot.nodes["a"].condition("Ready").expect("it was applied").change_seen_at.0)
}

pub(super) async fn pass(secs: u64) {
    tokio::time::advance(Duration::from_secs(secs)).await;
}

#[tokio::test(start_paused = true)]
async fn a_status_is_as_old_as_we_have_seen_it() {
    let cache = cache();
    pass(5).await;
    cache.apply_node(node(ConditionStatus::True));
    pass(5).await;
    cache.apply_node(node(ConditionStatus::True));
    assert_eq!(ready_since(&cache), Duration::from_secs(5));
    cache.apply_node(node(ConditionStatus::Unknown));
    assert_eq!(ready_since(&cache), Duration::from_secs(10));
    let again = Node { uid: "2".into(), ..node(ConditionStatus::Unknown) };
    pass(5).await;
    cache.apply_node(again);
    assert_eq!(ready_since(&cache), Duration::from_secs(15), "another Node of the name is seen for the first time");
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_fresh_when_it_moves_whatever_it_says() {
    let cache = cache();
    cache.apply_lease(LeaseKind::Kubelet, "a", lease(1000));
    pass(7).await;
    cache.apply_lease(LeaseKind::Kubelet, "a", lease(1000));
    let stale = |cache: &Cache, now: u64| {
        cache.with(|snapshot| snapshot.kubelet_leases["a"].stale_for(Moment(Duration::from_secs(now))).as_secs())
    };
    assert_eq!(stale(&cache, 7), 7, "a list of the same is no renewal");
    cache.apply_lease(LeaseKind::Kubelet, "a", lease(900));
    assert_eq!(stale(&cache, 7), 0, "a clock set back is a renewal all the same");
}

#[tokio::test(start_paused = true)]
async fn an_older_record_does_not_replace_the_written_one() {
    let cache = cache();
    cache.apply_fence(fence("1", "12"));
    cache.apply_fence(fence("1", "9"));
    assert_eq!(cache.with(|snapshot| snapshot.fences["a"].metadata.resource_version.clone()), "12");
    cache.remove_fence("a", "0");
    assert!(cache.with(|snapshot| snapshot.fences.contains_key("a")), "it is another record of the name");
    cache.remove_fence("a", "1");
    cache.listed(Source::Fences, &BTreeSet::new());
    cache.apply_fence(fence("1", "12"));
    assert!(cache.with(|snapshot| snapshot.fences.is_empty()), "a late event does not bring it back");
}

/// A creation that was not done has no UID yet, and no record of the name is found then.
#[tokio::test(start_paused = true)]
async fn which_record_was_deleted_is_known_also_after_a_creation_that_was_not_done() {
    let cache = cache();
    cache.apply_fence(fence("1", "12"));
    cache.remove_fence("a", "1");
    cache.miss_fence("a", "");
    cache.apply_fence(fence("1", "12"));
    assert!(cache.with(|snapshot| snapshot.fences.is_empty()), "a late event does not bring it back");
    cache.apply_fence(fence("2", "13"));
    assert!(cache.with(|snapshot| snapshot.fences.contains_key("a")), "the next record of the name is another one");
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_hears_nothing_is_not_synced() {
    let cache = cache();
    let synced = |cache: &Cache| cache.with(|snapshot| snapshot.host.synced);
    let none = BTreeSet::new();
    for source in [Source::Nodes, Source::KubeletLeases, Source::Fences] {
        cache.listed(source, &none);
    }
    assert!(!synced(&cache), "policies were never listed");
    cache.listed(Source::Policies, &none);
    assert!(synced(&cache));
    pass(21).await;
    assert!(!synced(&cache), "two rounds of every kubelet went by");
    cache.heard(Source::KubeletLeases);
    assert!(synced(&cache));
    cache.lost(Source::Nodes);
    cache.heard(Source::Nodes);
    assert!(!synced(&cache), "a broken watch is complete only after the next list");
}

/// By a list that was long in coming, and by a Lease that moves after none did.
#[tokio::test(start_paused = true)]
async fn kubelets_that_were_out_of_hearing_are_known_to_be() {
    let cache = cache();
    let again = || cache.with(|snapshot| snapshot.host.absence.map(|absence| absence.until.0.as_secs()));
    cache.ask_list(Source::KubeletLeases, "");
    cache.listed(Source::KubeletLeases, &BTreeSet::new());
    assert_eq!(again(), Some(0), "a controller that begins has heard none");
    cache.apply_lease(LeaseKind::Kubelet, "a", lease(10));
    for round in 1..=10 {
        pass(10).await;
        cache.apply_lease(LeaseKind::Kubelet, "a", lease(10 + 10 * round));
    }
    cache.lost(Source::Nodes);
    pass(6).await;
    cache.listed(Source::Nodes, &BTreeSet::new());
    cache.heard(Source::KubeletLeases);
    assert_eq!(again(), None, "nodes are written of seldom");
    cache.ask_list(Source::KubeletLeases, "");
    cache.listed(Source::KubeletLeases, &BTreeSet::from(["a".to_owned()]));
    assert_eq!(again(), None, "their own list was not long in coming");
    pass(20).await;
    cache.apply_lease(LeaseKind::Agent, "a", lease(136));
    assert_eq!(again(), None, "that is no kubelet's");
    cache.apply_lease(LeaseKind::Kubelet, "a", lease(136));
    assert_eq!(again(), Some(126));
    pass(200).await;
    assert_eq!(again(), None);
    cache.lost(Source::KubeletLeases);
    pass(6).await;
    cache.ask_list(Source::KubeletLeases, "");
    cache.listed(Source::KubeletLeases, &BTreeSet::from(["a".to_owned()]));
    assert_eq!(again(), Some(332));
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_does_not_answer_a_controller_that_starts_is_away() {
    let cache = cache();
    cache.ask_list(Source::KubeletLeases, "");
    pass(6).await;
    cache.listed(Source::KubeletLeases, &BTreeSet::new());
    assert_eq!(
        cache.with(|snapshot| snapshot.host.absence.map(|absence| absence.until)),
        Some(Moment(Duration::from_secs(6)))
    );
}

#[tokio::test(start_paused = true)]
async fn a_dump_of_a_node_under_remediation_is_known_under_any_leader() {
    let cache = cache();
    let dumping =
        |cache: &Cache| cache.with(|snapshot| snapshot.gathered.get("a").and_then(|gathered| gathered.dumping));
    cache.dumps("a");
    cache.apply_fence(fence("1", "1"));
    assert_eq!(dumping(&cache), None, "no Node has that name");
    cache.apply_node(node(ConditionStatus::Unknown));
    pass(5).await;
    cache.dumps("a");
    assert_eq!(dumping(&cache), Some(Moment(Duration::from_secs(5))));
    cache.with(|snapshot| snapshot.gathered.clear());
    assert_eq!(dumping(&cache), Some(Moment(Duration::from_secs(5))), "another term begins with it");
    cache.remove_fence("a", "1");
    cache.retain_gathered(&BTreeMap::new());
    assert_eq!(dumping(&cache), None);
    cache.apply_fence(fence("2", "2"));
    pass(200).await;
    assert_eq!(dumping(&cache), None, "it is over long ago");
}

#[tokio::test(start_paused = true)]
async fn what_we_read_or_wrote_ourselves_is_no_word_of_the_watch() {
    let synced = |cache: &Cache| cache.with(|snapshot| snapshot.host.synced);
    for late in [21, 151] {
        let cache = cache();
        for source in [Source::Nodes, Source::KubeletLeases, Source::Fences, Source::Policies] {
            cache.listed(source, &BTreeSet::from(["a".to_owned()]));
        }
        pass(late).await;
        cache.apply_lease(LeaseKind::Kubelet, "a", lease(1000));
        cache.apply_node(node(ConditionStatus::True));
        cache.apply_fence(fence("1", "12"));
        assert!(!synced(&cache), "{late} s without a word");
        for source in [Source::Nodes, Source::KubeletLeases, Source::Fences, Source::Policies] {
            cache.heard(source);
        }
        assert!(synced(&cache));
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_a_read_has_overtaken_is_no_renewal() {
    let cache = cache();
    let version = |version: &str, renewed| LeaseView { resource_version: version.into(), ..lease(renewed) };
    cache.apply_lease(LeaseKind::Kubelet, "a", version("10", 1000));
    pass(2).await;
    cache.apply_lease(LeaseKind::Kubelet, "a", version("30", 1020));
    pass(15).await;
    cache.apply_lease(LeaseKind::Kubelet, "a", version("20", 1010));
    let known = |cache: &Cache| cache.with(|snapshot| snapshot.kubelet_leases["a"].clone());
    let stale = |cache: &Cache| known(cache).stale_for(cache.clock.moment()).as_secs();
    assert_eq!((stale(&cache), known(&cache).resource_version.as_str()), (15, "30"));
    cache.apply_lease(LeaseKind::Kubelet, "a", version("40", 900));
    assert_eq!(stale(&cache), 0, "the version decides, not the holder's clock");
    pass(20).await;
    cache.apply_lease(LeaseKind::Kubelet, "a", version("7", 910));
    assert_eq!(stale(&cache), 0, "a store that was set back has older versions only");
}

#[test]
fn the_mistakes_of_a_policy_are_news_once() {
    let mut snapshot = Snapshot::default();
    assert!(snapshot.add_unreadable("p", "line 1".into()));
    assert!(!snapshot.add_unreadable("p", "line 1".into()), "a list of the same");
    assert!(snapshot.add_unreadable("p", "line 2".into()));
    assert_eq!(snapshot.unreadable_policies["p"], "line 2");
}
