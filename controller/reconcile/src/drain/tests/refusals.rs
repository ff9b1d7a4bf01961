//! What the API server refuses is tried again or given up, and its reason is reported.

use nodewell_remediation::facts::DisruptionBudget;

use super::*;

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
