//! What holds whatever the cluster does.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

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
