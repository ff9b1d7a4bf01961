//! The drain stops where its node is gone or another one, and where it is dropped.

use super::*;

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
