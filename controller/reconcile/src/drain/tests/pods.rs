//! Which pods are evicted or deleted, and when they are gone.

use nodewell_remediation::facts::Owner;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_node_without_pods_is_drained() {
    assert!(report(&Double::new(vec![]), &rules()).await.done);
}

#[tokio::test(start_paused = true)]
async fn pods_are_evicted_and_waited_for() {
    let double = Double::new(vec![pod("a"), pod("b")]).evict(|_, _| Does::End(Duration::from_secs(7)));
    assert!(report(&double, &rules()).await.done);
    assert_eq!(double.elapsed(), Duration::from_secs(7));
    assert_eq!(double.named("evict"), ["evict a", "evict b"]);
}

#[tokio::test(start_paused = true)]
async fn pods_are_deleted_where_eviction_is_not_wanted() {
    let double = Double::new(vec![pod("a")]).delete(|_, _| Does::End(Duration::from_secs(3)));
    assert!(report(&double, &deleting()).await.done);
    assert_eq!(double.named("delete"), ["delete a"]);
    assert!(double.named("evict").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_was_not_found_when_evicting_is_done() {
    let double = Double::new(vec![pod("a")]).evict(|_, _| Does::Vanish);
    assert!(report(&double, &rules()).await.done);
    assert_eq!(double.named("evict").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_was_not_found_when_deleting_is_done() {
    let double = Double::new(vec![pod("a")]).delete(|_, _| Does::Vanish);
    assert!(report(&double, &deleting()).await.done);
}

#[tokio::test(start_paused = true)]
async fn another_pod_of_the_same_name_elsewhere_means_that_ours_is_gone() {
    // A StatefulSet makes db-0 again on another node: pods_on no longer has it, whatever its name.
    let double = Double::new(vec![pod("db-0")]).evict(|_, _| Does::End(Duration::from_secs(1)));
    assert!(report(&double, &rules()).await.done);
    assert_eq!(double.uids("evict"), [at("db-0").uid]);
}

#[tokio::test(start_paused = true)]
async fn another_pod_of_the_same_name_on_this_node_is_evicted_by_its_own_uid() {
    let mut again = pod("db-0");
    again.at.uid = "second".into();
    let double = Double::new(vec![pod("db-0")])
        .evict(|_, _| Does::End(Duration::from_secs(1)))
        .arrives(Duration::from_secs(1), again);
    assert!(report(&double, &rules()).await.done);
    assert_eq!(double.uids("evict"), [at("db-0").uid, "second".to_owned()]);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_arrives_on_a_node_that_is_not_cordoned_goes_too() {
    let double = Double::new(vec![pod("a")])
        .evict(|_, _| Does::End(Duration::from_secs(5)))
        .arrives(Duration::from_secs(3), pod("late"));
    assert!(report(&double, &rules()).await.done);
    assert_eq!(double.named("evict"), ["evict a", "evict late"]);
    assert_eq!(double.elapsed(), Duration::from_secs(8));
}

#[tokio::test(start_paused = true)]
async fn daemon_set_pods_are_not_touched() {
    let mut agent = pod("agent");
    agent.owner = Some(Owner { kind: "DaemonSet".into(), name: "agent".into(), uid: "d".into(), gone: false });
    let double = Double::new(vec![agent]);
    assert!(report(&double, &rules()).await.done);
    assert_eq!(double.left(), ["agent"]);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_nothing_makes_again_stops_the_drain_before_it_begins() {
    let mut bare = pod("bare");
    bare.owner = None;
    let double = Double::new(vec![pod("a"), bare]);
    assert!(report(&double, &rules()).await.refused_evictions[0].starts_with("shop/bare"));
    assert!(double.named("evict").is_empty());
}

#[tokio::test(start_paused = true)]
async fn no_more_than_20_calls_are_under_way() {
    let pods = (0..70).map(|n| pod(&format!("p{n:02}"))).collect();
    let double = Double::new(pods).evict(|_, _| Does::Slow(Duration::from_millis(700)));
    assert!(report(&double, &rules()).await.done);
    assert_eq!(double.most_in_flight(), 20);
}

/// Another node's pods go meanwhile: what comes here since waits for their window.
#[tokio::test(start_paused = true)]
async fn what_is_moved_elsewhere_is_asked_before_each_round() {
    for (elsewhere, evicted) in [(0, &["evict a", "evict b"][..]), (1, &["evict a"])] {
        let double = Double::new(vec![pod("a")])
            .evict(|_, _| Does::End(Duration::from_secs(9)))
            .arrives(Duration::from_secs(5), pod("b"));
        let limits = Limits { rate: Some((2, Duration::from_secs(600))), ..Limits::default() };
        let mut state = DrainState::new(limits);
        let account = |state: &mut DrainState| {
            state.limit(limits.rate, if double.named("evict").is_empty() { 0 } else { elsewhere });
        };
        let emit = async |event| double.emit(event).await;
        let outcome = crate::drain::drain(&double, &node(), &rules(), &mut state, || double.now(), account, emit).await;
        assert_eq!(double.named("evict"), evicted);
        let Ok(Done::Drain(report)) = outcome else { panic!("{outcome:?}") };
        assert_eq!(report.done, elsewhere == 0);
    }
}

/// A drain may be dropped at any moment: what it was about to evict by then is known.
#[tokio::test(start_paused = true)]
async fn what_is_called_is_shown_before_it_is_called() {
    let shown = std::cell::Cell::new(0);
    let double = Double::new(vec![pod("a"), pod("b")]).evict(|_, _| Does::End(Duration::from_secs(1)));
    let mut state = DrainState::new(Limits::default());
    let account = |state: &mut DrainState| {
        state.limit(Some((9, Duration::from_secs(600))), 0);
        let (evicted, called) = (state.evicted().len(), double.named("evict").len());
        assert!(evicted >= called, "{called} calls, and {evicted} of them known");
        shown.set(evicted.max(shown.get()));
    };
    let emit = async |event| double.emit(event).await;
    let (node, rules) = (node(), rules());
    let drained = crate::drain::drain(&double, &node, &rules, &mut state, || double.now(), account, emit);
    let dropped = tokio::time::timeout(Duration::from_millis(1), drained).await;
    assert!(dropped.is_err(), "its calls are under way");
    assert_eq!((double.named("evict").len(), shown.get()), (2, 2));
}
