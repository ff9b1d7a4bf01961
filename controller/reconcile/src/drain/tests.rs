//! node-reaper's drain cases and kubectl's, as behaviours on a paused clock.

mod double;

use std::{collections::BTreeSet, time::Duration};

use nodewell_remediation::{
    action::{Done, Failed},
    api::{fence::DrainReport, policy::DrainStep},
    drain::{DrainRules, Limits},
    facts::{DisruptionBudget, Owner},
};

use proptest::prelude::*;

use self::double::{Does, Double, at, node, pod};
use crate::api_error::ApiError;

fn rules() -> DrainRules {
    DrainRules { timeout: Duration::from_secs(60), ..DrainRules::of(&DrainStep::default()).unwrap() }
}

fn deleting() -> DrainRules {
    DrainRules { disable_eviction: true, ..rules() }
}

fn forced() -> DrainRules {
    DrainRules { force_on_timeout: true, ..rules() }
}

async fn run(double: &Double, rules: &DrainRules) -> Result<Done, Failed> {
    super::drain(double, &node(), rules, Limits::default(), || double.now(), async |event| double.emit(event).await)
        .await
}

async fn report(double: &Double, rules: &DrainRules) -> DrainReport {
    match run(double, rules).await {
        Ok(Done::Drain(report)) => report,
        other => panic!("{other:?}"),
    }
}

/// It ended at the deadline, reported this of what is left, and no call was begun then or later.
async fn times_out(double: Double, rules: &DrainRules, message: &str) {
    let report = report(&double, rules).await;
    assert!(!report.done);
    assert!(report.refused_evictions.iter().any(|line| line.contains(message)), "{message:?} is not in {report:?}");
    assert_eq!(double.elapsed(), rules.timeout);
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert!(double.calls().iter().all(|(when, _)| *when < rules.timeout), "{:?}", double.calls());
}

fn refused(code: u16, message: &str) -> Does {
    Does::Answer(ApiError::Refused { code, message: message.into() })
}

fn refused_by_budget() -> Does {
    Does::Answer(ApiError::EvictionRefused { message: "Cannot evict pod".into(), retry: None })
}

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
async fn an_eviction_that_is_refused_for_good_ends_the_drain_early() {
    let double = Double::new(vec![pod("a")]).evict(|_, _| refused(403, "pods is forbidden"));
    let report = report(&double, &rules()).await;
    assert_eq!(
        (report.done, report.refused_evictions),
        (false, vec!["shop/a: pods is forbidden (HTTP 403)".to_owned()])
    );
    assert_eq!(double.named("evict").len(), 1);
    assert!(double.elapsed() < Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_is_refused_for_good_ends_the_drain_early() {
    let double = Double::new(vec![pod("a")]).delete(|_, _| refused(403, "pods is forbidden"));
    assert!(!report(&double, &deleting()).await.done);
    assert_eq!(double.named("delete").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_refused_pod_does_not_keep_the_others() {
    let double = Double::new(vec![pod("a"), pod("b")]).evict(|pod, _| match pod {
        "a" => refused(403, "forbidden"),
        _ => Does::End(Duration::from_secs(2)),
    });
    assert_eq!(report(&double, &rules()).await.refused_evictions.len(), 1);
    assert_eq!(double.left(), ["a"]);
}

/// A person could help, and the drain goes on whether the message is received or not.
#[tokio::test(start_paused = true)]
async fn a_wait_is_reported_and_a_listener_that_hangs_delays_nothing() {
    for deaf in [false, true] {
        let budget = DisruptionBudget {
            namespace: "shop".into(),
            name: "web".into(),
            pods: vec!["a".into()],
            disruptions_allowed: 0,
            message: String::new(),
        };
        let double = Double::new(vec![pod("a")]).evict(|_, _| refused_by_budget()).budget(budget);
        let double = if deaf { double.deaf() } else { double };
        let rules = DrainRules { timeout: Duration::from_secs(1200), ..rules() };
        assert!(!report(&double, &rules).await.done);
        assert_eq!(double.elapsed(), rules.timeout);
        let emitted = double.named("emit");
        assert!(
            emitted[0].starts_with(
                "emit DrainWaits: the drain waits for pods (1): shop/a: Cannot evict pod; PodDisruptionBudget shop/web"
            ),
            "{emitted:?}"
        );
        assert_eq!(double.times("emit"), [31], "the same message once in half an hour");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_in_trouble_is_tried_again() {
    let double = Double::new(vec![pod("a")]).evict(|_, nth| match nth {
        0 | 1 => refused(500, "etcdserver: leader changed"),
        _ => Does::End(Duration::ZERO),
    });
    assert!(report(&double, &rules()).await.done);
    assert_eq!(double.times("evict"), [0, 5, 15]);
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
async fn a_pod_that_never_ends_times_out_when_evicted() {
    let double = Double::new(vec![pod("a")]).evict(|_, _| Does::Linger);
    times_out(double, &rules(), "the kubelet has not said so").await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_never_ends_times_out_when_deleted() {
    let double = Double::new(vec![pod("a")]).delete(|_, _| Does::Linger);
    times_out(double, &deleting(), "the kubelet has not said so").await;
}

#[tokio::test(start_paused = true)]
async fn the_total_is_not_extended_by_pods_that_end() {
    let pods = (0..9).map(|n| pod(&format!("p{n}"))).collect();
    let double = Double::new(pods).evict(|pod, _| {
        let n: u64 = pod.trim_start_matches('p').parse().unwrap();
        Does::End(Duration::from_secs(10 * n))
    });
    times_out(double, &rules(), "shop/p7").await;
}

#[tokio::test(start_paused = true)]
async fn a_list_that_hangs_when_evicting_times_out() {
    let double = Double::new(vec![pod("a")]).evict(|_, _| Does::Linger).list(|nth| match nth {
        0 => Does::Accept,
        _ => Does::Hang,
    });
    times_out(double, &rules(), "shop/a").await;
}

#[tokio::test(start_paused = true)]
async fn a_list_that_hangs_when_deleting_times_out() {
    let double = Double::new(vec![pod("a")]).delete(|_, _| Does::Accept).list(|nth| match nth {
        0 => Does::Accept,
        _ => Does::Hang,
    });
    times_out(double, &deleting(), "shop/a").await;
}

#[tokio::test(start_paused = true)]
async fn an_eviction_that_hangs_holds_up_its_own_pod_only() {
    let double = Double::new(vec![pod("a"), pod("b")]).evict(|pod, _| match pod {
        "a" => Does::Hang,
        _ => Does::End(Duration::from_secs(1)),
    });
    assert_eq!(double.left(), ["a", "b"]);
    let ended = report(&double, &rules()).await;
    assert_eq!(double.left(), ["a"]);
    assert!(ended.refused_evictions[0].contains("no answer"), "{ended:?}");
    assert_eq!(double.elapsed(), rules().timeout);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_hangs_times_out() {
    times_out(Double::new(vec![pod("a")]).delete(|_, _| Does::Hang), &deleting(), "shop/a").await;
}

#[tokio::test(start_paused = true)]
async fn pods_that_can_never_be_listed_are_never_touched() {
    let double = Double::new(vec![pod("a")]).list(|_| refused(403, "pods is forbidden"));
    times_out(double, &rules(), "could never be listed: pods is forbidden").await;
}

#[tokio::test(start_paused = true)]
async fn a_list_that_fails_at_the_end_proves_nothing() {
    let double = Double::new(vec![pod("a")]).evict(|_, _| Does::End(Duration::ZERO)).list(|nth| match nth {
        0 => Does::Accept,
        _ => refused(500, "no leader"),
    });
    times_out(double, &rules(), "could not be listed at the end").await;
}

#[tokio::test(start_paused = true)]
async fn a_list_that_fails_once_is_read_again() {
    let double = Double::new(vec![pod("a")]).evict(|_, _| Does::End(Duration::ZERO)).list(|nth| match nth {
        0 => refused(500, "no leader"),
        _ => Does::Accept,
    });
    assert!(report(&double, &rules()).await.done);
    assert_eq!(double.times("evict"), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_blocked_eviction_is_tried_until_the_end_and_the_budget_named() {
    let budget = DisruptionBudget {
        namespace: "shop".into(),
        name: "web".into(),
        pods: vec!["a".into()],
        disruptions_allowed: 0,
        message: "needs 2 healthy pods and has 2".into(),
    };
    let double = Double::new(vec![pod("a")]).evict(|_, _| refused_by_budget()).budget(budget);
    let ended = report(&double, &rules()).await;
    assert_eq!(double.times("evict"), [0, 5, 15, 35]);
    assert_eq!(double.named("budgets").len(), 1);
    let wanted = "shop/a: Cannot evict pod; PodDisruptionBudget shop/web (allows 0, needs 2 healthy pods and has 2)";
    assert_eq!(ended.refused_evictions, [wanted]);
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_honoured() {
    let busy = ApiError::EvictionRefused { message: "busy".into(), retry: Some(Duration::from_secs(20)) };
    let double = Double::new(vec![pod("a")]).evict(move |_, nth| match nth {
        0 => Does::Answer(busy.clone()),
        _ => Does::End(Duration::ZERO),
    });
    assert!(report(&double, &rules()).await.done);
    assert_eq!(double.times("evict"), [0, 20]);
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_being_deleted_is_waited_for() {
    let message = "unable to create new content in namespace shop because it is being terminated";
    let double = Double::new(vec![pod("a")]).evict(move |_, _| refused(403, message));
    times_out(double, &rules(), "its namespace is being deleted").await;
}

#[tokio::test(start_paused = true)]
async fn several_budgets_on_one_pod_are_told_as_what_they_are() {
    let message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
    let double = Double::new(vec![pod("a")]).evict(move |_, _| refused(500, message));
    times_out(double, &rules(), "several PodDisruptionBudgets").await;
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

#[tokio::test(start_paused = true)]
async fn what_would_not_go_is_deleted_by_force_within_the_total() {
    let double = Double::new(vec![pod("a"), pod("b")])
        .evict(|pod, _| if pod == "a" { Does::Linger } else { refused_by_budget() })
        .delete(|_, _| Does::End(Duration::ZERO));
    assert!(report(&double, &forced()).await.done);
    assert_eq!(double.named("delete"), ["delete a grace 0", "delete b grace 0"]);
    assert_eq!(double.times("delete"), [48, 48]);
    assert!(double.elapsed() < forced().timeout);
}

#[tokio::test(start_paused = true)]
async fn without_the_policys_word_nothing_is_forced() {
    let double = Double::new(vec![pod("a")]).evict(|_, _| Does::Linger);
    times_out(double, &rules(), "shop/a").await;
}

#[tokio::test(start_paused = true)]
async fn force_that_does_not_help_still_ends_at_the_deadline() {
    let double = Double::new(vec![pod("a")]).evict(|_, _| Does::Linger).delete(|_, _| Does::Hang);
    times_out(double, &forced(), "shop/a").await;
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_gone_or_another_one_ends_the_drain() {
    for found in [None, Some("another")] {
        let double = Double::new(vec![pod("a")]).node_becomes(Duration::ZERO, found);
        let ended = run(&double, &rules()).await;
        assert!(matches!(ended, Err(Failed::Gone(_))), "{ended:?}");
        assert!(double.named("evict").is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_replaced_during_the_drain_keeps_its_new_pods() {
    let mut fresh = pod("fresh");
    fresh.at.uid = "fresh".into();
    let double = Double::new(vec![pod("a")])
        .evict(|_, _| Does::Linger)
        .node_becomes(Duration::from_secs(10), Some("another"))
        .arrives(Duration::from_secs(10), fresh);
    assert!(matches!(run(&double, &rules()).await, Err(Failed::Gone(_))));
    assert_eq!(double.named("evict"), ["evict a"]);
}

#[tokio::test(start_paused = true)]
async fn dropping_it_stops_everything() {
    let double = Double::new(vec![pod("a")]).evict(|_, _| refused_by_budget());
    let ended = tokio::time::timeout(Duration::from_secs(12), run(&double, &rules())).await;
    assert!(ended.is_err());
    let made = double.calls().len();
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(double.calls().len(), made);
}

fn anything() -> impl Strategy<Value = Does> {
    let seconds = || (0u64..90).prop_map(Duration::from_secs);
    prop_oneof![
        Just(Does::Accept),
        seconds().prop_map(Does::End),
        Just(Does::Linger),
        seconds().prop_map(Does::Slow),
        Just(Does::Vanish),
        Just(refused_by_budget()),
        Just(refused(403, "forbidden")),
        Just(refused(500, "no leader")),
        Just(Does::Hang),
    ]
}

/// The answers in turn, for whatever is asked.
fn script(answers: Vec<Does>) -> impl Fn(&str, usize) -> Does + 'static {
    let turn = std::cell::Cell::new(0);
    move |_, _| {
        turn.set(turn.get() + 1);
        answers[turn.get() % answers.len()].clone()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// I13 and I14: whatever the cluster does, the drain ends by its deadline, calls nothing at or after it, touches
    /// only pods that it was shown, and reports "done" only of a node without pods.
    #[test]
    fn whatever_the_cluster_does_the_drain_keeps_its_rules(
        pods in 0usize..30,
        evictions in prop::collection::vec(anything(), 1..8),
        deletions in prop::collection::vec(anything(), 1..8),
        lists in prop::collection::vec(anything(), 1..8),
        arrival in 0u64..90,
        force_on_timeout in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let lists = script(lists);
            let double = Double::new((0..pods).map(|n| pod(&format!("p{n:02}"))).collect())
                .evict(script(evictions))
                .delete(script(deletions))
                .list(move |nth| lists("", nth))
                .arrives(Duration::from_secs(arrival), pod("late"));
            let rules = DrainRules { force_on_timeout, ..rules() };
            let report = report(&double, &rules).await;
            prop_assert!(double.elapsed() <= rules.timeout);
            prop_assert_eq!(report.done, report.refused_evictions.is_empty());
            prop_assert!(!report.done || double.left().is_empty());
            tokio::time::sleep(Duration::from_secs(300)).await;
            prop_assert!(double.calls().iter().all(|(when, _)| *when < rules.timeout));
            prop_assert!(double.most_in_flight() <= 20);
            let shown: BTreeSet<_> = (0..pods).map(|n| at(&format!("p{n:02}")).uid).chain([at("late").uid]).collect();
            prop_assert!(double.uids("evict").iter().chain(&double.uids("delete")).all(|uid| shown.contains(uid)));
            Ok(())
        })?;
    }
}
