//! Which changes a decision follows at once, and what the cache has after each.

use futures_util::FutureExt;
use nodewell_remediation::{
    api::policy::RemediationPolicy,
    decide::{CountedPods, GatherRequest, Handover},
    facts::{Effect, Taint},
    snapshot::{Customer, PeerLeases, PodSource, Quorum},
};

use super::*;

/// Whether it is heard since this was asked last.
fn is_heard(cache: &Cache) -> bool {
    cache.changed().now_or_never().is_some()
}

/// What is changed, whether that is heard, and how it is changed.
type Change = (&'static str, bool, fn(&mut Node));

fn changed(before: &Node, change: impl FnOnce(&mut Node)) -> Node {
    let mut node = before.clone();
    node.resource_version = "2".into();
    change(&mut node);
    node
}

/// Heartbeats come from each node every few seconds or minutes, and mean nothing.
#[tokio::test(start_paused = true)]
async fn each_change_of_a_node_that_means_something_is_heard_at_once_and_a_heartbeat_is_not() {
    let changes: [Change; 11] = [
        ("version", false, |_| {}),
        ("heartbeat", false, |node| node.conditions[0].heartbeat = Some(Timestamp::constant(9, 0))),
        ("deleting", true, |node| node.deleting = true),
        ("cordon", true, |node| node.unschedulable = true),
        ("taint", true, |node| {
            node.taints.push(Taint { key: "k".into(), value: String::new(), effect: Effect::NoSchedule });
        }),
        ("boot", true, |node| node.boot_id = "new".into()),
        ("volumes", true, |node| node.volumes_attached = 1),
        ("label", true, |node| drop(node.labels.insert("k".into(), "v".into()))),
        ("annotation", true, |node| drop(node.annotations.insert("k".into(), "v".into()))),
        ("status", true, |node| node.conditions[0].status = ConditionStatus::Unknown),
        ("reason", true, |node| node.conditions[0].reason = "NodeStatusUnknown".into()),
    ];
    for (what, loud, change) in changes {
        let cache = cache();
        let before = node(ConditionStatus::True);
        cache.apply_node(before.clone());
        assert!(is_heard(&cache) && !is_heard(&cache), "it is new");
        cache.apply_node(changed(&before, change));
        assert_eq!(is_heard(&cache), loud, "{what}");
    }
    let cache = cache();
    cache.apply_node(node(ConditionStatus::True));
    is_heard(&cache);
    cache.remove_node("a");
    assert!(is_heard(&cache));
    cache.remove_node("a");
    assert!(!is_heard(&cache), "it is gone already");
}

/// A kubelet that speaks again after it seemed lost is news; there are hundreds of renewals a second that are none.
#[tokio::test(start_paused = true)]
async fn a_renewal_is_heard_when_it_was_overdue() {
    for (secs, renewed, loud) in [(12, 1010, false), (13, 1010, true), (13, 1000, false)] {
        let cache = cache();
        cache.apply_lease(LeaseKind::Kubelet, "a", lease(1000));
        assert!(is_heard(&cache), "it is new");
        pass(secs).await;
        cache.apply_lease(LeaseKind::Kubelet, "a", lease(renewed));
        assert_eq!(is_heard(&cache), loud, "{secs} s, {renewed}");
    }
}

#[tokio::test(start_paused = true)]
async fn leases_of_both_kinds_are_listed_and_go() {
    for kind in [LeaseKind::Kubelet, LeaseKind::Agent] {
        let cache = cache();
        cache.list_lease(kind, "a", lease(1000));
        let count = |cache: &Cache| cache.with(|snapshot| (snapshot.kubelet_leases.len(), snapshot.agent_leases.len()));
        assert_eq!(count(&cache), if kind == LeaseKind::Kubelet { (1, 0) } else { (0, 1) });
        is_heard(&cache);
        cache.remove_lease(kind, "a");
        assert_eq!((count(&cache), is_heard(&cache)), ((0, 0), true));
        cache.remove_lease(kind, "a");
        assert!(!is_heard(&cache));
    }
}

#[tokio::test(start_paused = true)]
async fn the_kill_switch_the_host_and_etcd_are_known_at_once() {
    let cache = cache();
    for (stopped, loud) in [(Some("a file"), true), (Some("a file"), false), (Some("a person"), true), (None, true)] {
        cache.set_stopped(stopped.map(str::to_owned));
        assert_eq!(is_heard(&cache), loud, "{stopped:?}");
        assert_eq!(cache.with(|snapshot| snapshot.stopped.clone()).as_deref(), stopped);
    }
    for (node, loud) in [("cp-1", true), ("cp-1", false), ("cp-2", true)] {
        cache.set_host(|host| host.node = Some(node.into()));
        assert_eq!(is_heard(&cache), loud, "{node}");
    }
    let three = |healthy| Quorum::Members { healthy, total: 3 };
    let at = |healthy| BTreeMap::from([("10.0.0.1".to_owned(), healthy)]);
    for (etcd, members, loud) in [
        (three(3), at(true), true),
        (three(3), at(true), false),
        (three(2), at(true), true),
        (three(2), at(false), true),
    ] {
        cache.set_etcd(etcd, members.clone());
        assert_eq!(is_heard(&cache), loud, "{etcd:?} {members:?}");
        cache.with(|snapshot| assert_eq!((snapshot.etcd, &snapshot.etcd_members), (etcd, &members)));
    }
}

fn policy(name: &str) -> RemediationPolicy {
    let spec = serde_json::json!({
        "mode": "Enforce",
        "when": "true",
        "steps": [{ "cordon": {} }],
    });
    serde_json::from_value(serde_json::json!({ "metadata": { "name": name }, "spec": spec })).expect("it is a policy")
}

fn policies(cache: &Cache) -> (Vec<String>, Vec<String>) {
    cache.with(|snapshot| {
        let readable = snapshot.policies.iter().map(|policy| policy.name.clone());
        (readable.collect(), snapshot.unreadable_policies.keys().cloned().collect())
    })
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// One that cannot be read blocks what is under way by it: it is in one of the two lists, and in no other.
#[tokio::test(start_paused = true)]
async fn a_policy_is_known_once_as_it_is_by_now() {
    let cache = cache();
    for name in ["b", "c", "a", "b"] {
        cache.apply_policy(&policy(name));
        assert!(is_heard(&cache), "{name}");
    }
    assert_eq!(policies(&cache), (names(&["a", "b", "c"]), names(&[])));
    cache.apply_unreadable_policy("b", "line 3".into());
    assert_eq!((policies(&cache), is_heard(&cache)), ((names(&["a", "c"]), names(&["b"])), true));
    let mut broken = policy("c");
    broken.spec = serde_json::from_value(serde_json::json!({ "when": "no such thing", "steps": [] })).expect("a spec");
    cache.apply_policy(&broken);
    assert_eq!(policies(&cache), (names(&["a"]), names(&["b", "c"])));
    cache.apply_policy(&policy("b"));
    assert_eq!(policies(&cache), (names(&["a", "b"]), names(&["c"])));
    cache.remove_policy("b");
    assert_eq!(policies(&cache), (names(&["a"]), names(&["c"])));
    cache.listed(Source::Policies, &["c".to_owned()].into());
    assert_eq!(policies(&cache), (names(&[]), names(&["c"])));
    cache.listed(Source::Policies, &BTreeSet::new());
    assert_eq!(policies(&cache), (names(&[]), names(&[])));
}

#[tokio::test(start_paused = true)]
async fn what_was_asked_about_a_node_is_known_while_it_is_asked_or_has_a_record() {
    let cache = cache();
    cache.apply_fence(fence("1", "1"));
    for name in ["a", "b", "c"] {
        cache.gather(name, |_| {});
    }
    cache.retain_gathered(&[("b".to_owned(), GatherRequest::default())].into());
    assert_eq!(cache.with(|snapshot| snapshot.gathered.keys().cloned().collect::<Vec<_>>()), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn what_the_last_decision_reports_is_there_to_be_read() {
    let cache = cache();
    assert!(cache.node_reports().is_empty());
    let decision = nodewell_remediation::decide::decide(
        &Snapshot { nodes: [("a".to_owned(), node(ConditionStatus::True))].into(), ..Snapshot::default() },
        nodewell_remediation::decide::Memory::default(),
        cache.clock.now(),
    );
    let names = |reports: &[NodeReport]| reports.iter().map(|report| report.node.clone()).collect::<Vec<_>>();
    let expected = names(&decision.node_reports);
    cache.publish(decision.node_reports);
    assert_eq!((names(&cache.node_reports()), expected.as_slice()), (expected.clone(), &["a".to_owned()][..]));
}

#[tokio::test(start_paused = true)]
async fn a_record_is_heard_when_it_is_another_one_and_a_term_when_it_is_newer() {
    let cache = cache();
    let mut epochs = cache.epochs();
    cache.apply_fence(fence("1", "1"));
    assert!(is_heard(&cache));
    cache.apply_fence(fence("1", "1"));
    assert!(!is_heard(&cache));
    for (epoch, grows, newest) in [(3, true, 3), (3, false, 3), (2, false, 3), (4, true, 4)] {
        cache.saw_epoch(epoch);
        let is_news = epochs.has_changed().expect("the cache is there");
        assert_eq!((is_news, *epochs.borrow_and_update()), (grows, newest), "{epoch}");
    }
}

/// Its store is of before it was deleted, although nothing in it is older. One that a finalizer holds is newer.
#[tokio::test(start_paused = true)]
async fn a_record_that_was_deleted_and_is_there_again_shows_that_the_store_went_back() {
    for (uid, version, went_back) in [("1", "12", 1), ("1", "13", 0), ("2", "13", 0)] {
        let gone = || {
            let cache = cache();
            cache.apply_fence(fence("1", "12"));
            cache.remove_fence("a", "1");
            cache
        };
        let listing = gone();
        listing.ask_list(Source::Fences, "");
        listing.list_began(Source::Fences, "20");
        listing.list_fence(fence(uid, version));
        assert_eq!(listing.set_backs(), went_back, "listed: {uid} {version}");
        let reading = gone();
        let mark = reading.mark(Source::Fences, "a");
        reading.compare(&mark, uid, version);
        assert_eq!(reading.set_backs(), went_back, "read: {uid} {version}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_is_heard_when_it_is_new_and_when_it_is_gone() {
    let cache = cache();
    let event = NodeEvent {
        uid: "e".into(),
        node: "a".into(),
        node_uid: String::new(),
        reason: "DiskFell".into(),
        reporter: "kubelet".into(),
        count: 1,
        last: Timestamp::UNIX_EPOCH,
    };
    is_heard(&cache);
    cache.apply_event(event.clone(), false);
    assert!(is_heard(&cache));
    cache.keep_events(&["e".to_owned()].into());
    assert!(!is_heard(&cache), "it is still there");
    cache.keep_events(&[].into());
    assert!(is_heard(&cache));
    cache.apply_event(event, false);
    is_heard(&cache);
    cache.remove_event("e");
    assert!(is_heard(&cache));
    cache.remove_event("e");
    assert!(!is_heard(&cache), "it is gone already");
}

#[tokio::test(start_paused = true)]
async fn what_other_remediators_hold_and_ask_for_is_heard_when_it_changes() {
    let cache = cache();
    let leases = || PeerLeases { are_kept: true, ..PeerLeases::default() };
    let customers = || BTreeMap::from([("a".to_owned(), Customer::default())]);
    is_heard(&cache);
    for is_new in [true, false] {
        cache.set_peer_leases(leases());
        assert_eq!(is_heard(&cache), is_new);
        cache.set_customers(customers());
        assert_eq!(is_heard(&cache), is_new);
    }
    cache.with(|snapshot| assert_eq!((&snapshot.peer_leases, &snapshot.customers), (&leases(), &customers())));
}

/// Until a new boot; a dump is repeated every 10 s.
#[tokio::test(start_paused = true)]
async fn a_shutdown_is_known_for_its_boot_and_a_dump_for_two_minutes() {
    for (seconds, is_known) in [(119, true), (120, false)] {
        let cache = cache();
        cache.apply_node(Node { boot_id: "boot-1".into(), ..node(ConditionStatus::True) });
        cache.announce_shutdown("a", "boot-1");
        cache.dumps("a");
        pass(seconds).await;
        cache.apply_fence(fence("1", "1"));
        cache.with(|snapshot| {
            assert_eq!(snapshot.shutdowns.get("a"), Some(&Moment::default()));
            assert_eq!(snapshot.gathered.get("a").is_some_and(|known| known.dumping.is_some()), is_known, "{seconds}");
        });
    }
}

fn counted(of: &[(&str, &str, [usize; 3])]) -> Decided {
    let pods = of.iter().map(|(policy, node, [released, evicted, awaited])| {
        let of = PodSource { policy: (*policy).into(), node: (*node).into() };
        (of, CountedPods { released: *released, evicted: *evicted, awaited: *awaited, draining_since: None })
    });
    Decided { at: Moment::default(), handover: Handover::default(), pods: pods.collect() }
}

/// Of its own node a drain knows what it evicted, and what it awaits.
#[test]
fn pods_count_by_the_last_decision() {
    let cache = Cache::new(Clock::counted(jiff::Timestamp::UNIX_EPOCH), Limits::default());
    let beside = |policy: &str, node: &str| cache.pods_beside(&PodSource { policy: policy.into(), node: node.into() });
    assert_eq!(beside("p", "a"), 0, "nothing is decided yet");
    cache.leave(counted(&[
        ("p", "a", [1, 2, 4]),
        ("p", "b", [8, 16, 32]),
        ("p", "", [64, 0, 0]),
        ("q", "b", [9, 9, 9]),
    ]));
    assert_eq!((beside("p", "a"), beside("p", "b")), (1 + 56 + 64, 7 + 8 + 64));
    assert_eq!(beside("p", "c"), 7 + 56 + 64);
    cache.leave(counted(&[("p", "b", [usize::MAX, 1, 1]), ("p", "c", [1, 0, 0])]));
    assert_eq!(beside("p", "a"), usize::MAX, "it was read from an annotation");
}

/// A person lowered the rate below what two drains await: the older one goes on, or both would wait for ever.
#[test]
fn a_drain_holds_no_room_for_those_that_were_begun_after_it() {
    let cache = Cache::new(Clock::counted(jiff::Timestamp::UNIX_EPOCH), Limits::default());
    let mut decided =
        counted(&[("p", "a", [0, 1, 40]), ("p", "b", [0, 2, 40]), ("p", "c", [0, 3, 40]), ("p", "d", [0, 4, 40])]);
    for (of, counted) in &mut decided.pods {
        // Two of them in one pass; the last one under the leader before.
        let seconds = [("a", 20), ("b", 10), ("c", 10)].into_iter().find(|(node, _)| of.node == *node);
        counted.draining_since = seconds.map(|(_, second)| Moment(Duration::from_secs(second)));
    }
    cache.leave(decided);
    let beside = |node: &str| cache.pods_beside(&PodSource { policy: "p".into(), node: node.into() });
    assert_eq!([beside("b"), beside("c"), beside("a")], [1 + 3 + 44, 42 + 1 + 44, 42 + 43 + 44]);
    assert_eq!(beside("e"), 41 + 42 + 43 + 44, "one that no decision knows yet");
}

#[test]
fn what_was_decided_is_in_the_lease_once_that_or_what_came_later_is_written() {
    let cache = Cache::new(Clock::counted(jiff::Timestamp::UNIX_EPOCH), Limits::default());
    let at = |second| Moment(Duration::from_secs(second));
    cache.wrote_handover(at(5));
    assert!(!cache.is_in_lease(cache.decided_at()), "nothing is decided yet");
    for (decided, is_in_lease) in [(4, true), (5, true), (6, false)] {
        cache.leave(Decided { at: at(decided), ..counted(&[]) });
        assert_eq!(cache.is_in_lease(cache.decided_at()), is_in_lease, "{decided}");
    }
    cache.inherit(Handover::default(), Duration::ZERO, Duration::ZERO);
    assert!(!cache.is_in_lease(Some(at(5))), "another term");
}
