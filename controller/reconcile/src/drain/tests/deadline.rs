//! The drain ends by its deadline, whatever hangs, and uses force within it only.

use super::*;

fn forced() -> DrainRules {
    DrainRules { force_on_timeout: true, ..rules() }
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
