//! Round after round: in which order, how often, until when, and what is reported of those that are left.

use proptest::prelude::*;

use super::*;
use crate::{
    api::fence::DrainReport,
    facts::{DisruptionBudget, VolumeClaim},
};

#[test]
fn a_pod_in_the_way_ends_the_drain_before_anything_is_evicted() {
    let pods = [pod("a"), Pod { owner: None, ..pod("bare") }];
    let next = next(&rules(), &pods, &mut DrainState::default(), STARTED, now(0));
    assert!(next.calls.is_empty());
    let verdict = next.verdict.unwrap();
    assert!(!verdict.done);
    assert!(verdict.refused_evictions[0].starts_with("shop/bare: no controller"), "{verdict:?}");
    assert_eq!(verdict.refused_evictions[1..], ["shop/a: it was not asked to go: another pod stands in the way"]);
}

#[test]
fn one_that_comes_later_does_not_stop_the_others() {
    let mut state = DrainState::default();
    let first = next(&rules(), &[pod("a")], &mut state, STARTED, now(0));
    make(&first, &mut state, 0);
    let pods = [deleting(pod("a"), 10_030), pod("b"), Pod { owner: None, ..pod("bare") }];
    let second = next(&rules(), &pods, &mut state, STARTED, now(1));
    assert_eq!(names(&second), ["b"]);
    assert_eq!(second.verdict, None);
    let third = next(&rules(), &pods[2..], &mut state, STARTED, now(2));
    assert!(!third.verdict.unwrap().done);
}

#[test]
fn nothing_to_evict_is_done() {
    let pods = [Pod { owner: owner("DaemonSet"), ..pod("d") }];
    let next = next(&rules(), &pods, &mut DrainState::default(), STARTED, now(0));
    assert_eq!(next.verdict, Some(DrainReport { done: true, refused_evictions: Vec::new(), left: 0 }));
}

#[test]
fn evictions_name_the_pods_uid_and_the_wanted_grace() {
    let rules = DrainRules { grace: Some(Duration::from_secs(7)), ..rules() };
    let next = next(&rules, &[pod("a")], &mut DrainState::default(), STARTED, now(0));
    let wanted =
        PodRemoval { pod: at("a"), kind: RemovalKind::Evict, grace: Some(Duration::from_secs(7)), forced: false };
    assert_eq!(next.calls, [wanted]);
    assert_eq!(next.until, now(1).moment);
}

#[test]
fn without_eviction_pods_are_deleted() {
    let rules = DrainRules { disable_eviction: true, ..rules() };
    let next = next(&rules, &[pod("a")], &mut DrainState::default(), STARTED, now(0));
    assert_eq!((next.calls[0].kind, next.calls[0].grace), (RemovalKind::Delete, None));
}

#[test]
fn what_does_not_serve_goes_first() {
    let pods =
        [pod("serves"), Pod { ready: false, ..pod("broken") }, Pod { phase: "Succeeded".into(), ..pod("finished") }];
    let next = next(&rules(), &pods, &mut DrainState::default(), STARTED, now(0));
    assert_eq!(names(&next), ["finished", "broken", "serves"]);
}

#[test]
fn no_more_than_20_are_in_flight() {
    let pods: Vec<_> = (0..50).map(|n| pod(&format!("p{n:02}"))).collect();
    let mut state = DrainState::default();
    let first = next(&rules(), &pods, &mut state, STARTED, now(0));
    assert_eq!(first.calls.len(), 20);
    make(&first, &mut state, 0);
    assert!(next(&rules(), &pods, &mut state, STARTED, now(1)).calls.is_empty());
    state.answered(&first.calls[0].pod, EvictionResult::Accepted, rules().retry, now(1).moment);
    assert_eq!(names(&next(&rules(), &pods, &mut state, STARTED, now(2))), ["p20"]);
}

#[test]
fn a_rate_holds_pods_back() {
    let pods: Vec<_> = (0..9).map(|n| pod(&format!("p{n}"))).collect();
    let mut state = DrainState::new(Limits { rate: Some((4, Duration::from_secs(60))), ..Limits::default() });
    let first = next(&rules(), &pods, &mut state, STARTED, now(0));
    make(&first, &mut state, 0);
    assert_eq!(first.calls.len(), 4);
    assert_eq!(next(&rules(), &pods, &mut state, STARTED, now(59)).calls.len(), 0);
    let late = DrainRules { timeout: Duration::from_secs(59), ..rules() };
    let report = next(&late, &pods, &mut state.clone(), STARTED, now(59)).verdict.unwrap();
    assert!(
        report.refused_evictions[8].ends_with("the rate holds it up: 4 pods may go within 1m (spec.pods)"),
        "{report:?}"
    );
    assert_eq!(next(&rules(), &pods, &mut state, STARTED, now(60)).calls.len(), 4);
}

/// What a budget refuses, again and again, takes nothing from the others.
#[test]
fn an_eviction_that_is_refused_moves_no_pod_and_uses_nothing_of_the_rate() {
    let pods: Vec<_> = (0..9).map(|n| pod(&format!("p{n}"))).collect();
    let mut state = DrainState::new(Limits { rate: Some((4, Duration::from_secs(60))), ..Limits::default() });
    let first = next(&rules(), &pods, &mut state, STARTED, now(0));
    make(&first, &mut state, 0);
    let answers = [
        refused_by_budget("not now"),
        EvictionResult::Refused { message: "no".into() },
        EvictionResult::Failed { message: "no answer".into() },
        EvictionResult::Accepted,
    ];
    for (call, answer) in first.calls.iter().zip(answers) {
        state.answered(&call.pod, answer, rules().retry, now(1).moment);
    }
    assert_eq!(names(&next(&rules(), &pods, &mut state, STARTED, now(2))), ["p4", "p5"]);
}

#[test]
fn a_drain_that_goes_on_is_still_in_the_window_of_what_it_moved() {
    let pods: Vec<_> = (0..9).map(|n| pod(&format!("p{n}"))).collect();
    let limits = Limits { rate: Some((4, Duration::from_secs(60))), ..Limits::default() };
    let mut state = DrainState::new(limits);
    let first = next(&rules(), &pods, &mut state, STARTED, now(0));
    make(&first, &mut state, 0);
    let mut state = DrainState::after(limits, state.evicted().clone());
    assert_eq!(
        names(&next(&rules(), &pods[2..], &mut state, STARTED, now(59))),
        ["p2", "p3"],
        "those have their place"
    );
    assert_eq!(next(&rules(), &pods[4..], &mut state, STARTED, now(59)).calls.len(), 0);
    assert_eq!(next(&rules(), &pods[4..], &mut state, STARTED, now(60)).calls.len(), 4);
}

/// They were counted beside this node's own, and one that came since would be one too many.
#[test]
fn pods_that_were_moved_elsewhere_count_for_the_rate() {
    let pods: Vec<_> = (0..9).map(|n| pod(&format!("p{n}"))).collect();
    let limits = Limits { rate: Some((4, Duration::from_secs(60))), ..Limits::default() };
    let rate = limits.rate;
    for (beside, calls) in [(0, 4), (3, 1), (4, 0), (usize::MAX, 0)] {
        let mut state = DrainState::new(limits);
        state.limit(rate, beside);
        assert_eq!(next(&rules(), &pods, &mut state, STARTED, now(0)).calls.len(), calls, "{beside}");
    }
    let mut state = DrainState::new(limits);
    state.limit(rate, 4);
    assert!(next(&rules(), &pods, &mut state, STARTED, now(0)).calls.is_empty());
    state.limit(rate, 1);
    assert_eq!(next(&rules(), &pods, &mut state, STARTED, now(1)).calls.len(), 3, "as soon as it may");
    state.limit(Some((2, Duration::from_secs(60))), 0);
    assert_eq!(next(&rules(), &pods, &mut state, STARTED, now(2)).calls.len(), 2, "as the policy says now");
}

/// A call that had no answer may have moved it, and what was accepted has: a refusal of a later one changes nothing.
#[test]
fn a_pod_counts_once_and_as_long_as_it_may_have_gone() {
    let pods = [pod("a")];
    let limits = Limits { rate: Some((1, Duration::from_secs(60))), ..Limits::default() };
    let refused = || EvictionResult::Refused { message: "a webhook".into() };
    let failed = || EvictionResult::Failed { message: "no answer".into() };
    for (answers, counted) in [
        ([failed(), refused()], Some(0)),
        ([EvictionResult::Accepted, refused()], Some(0)),
        ([failed(), failed()], Some(30)),
        ([refused_by_budget("not now"), refused_by_budget("not now")], None),
    ] {
        let mut state = DrainState::new(limits);
        for (second, answer) in [0, 30].into_iter().zip(answers.clone()) {
            let tried = next(&rules(), &pods, &mut state, STARTED, now(second));
            make(&tried, &mut state, second);
            assert_eq!(tried.calls.len(), 1, "{second}: it has its place in the rate");
            state.answered(&tried.calls[0].pod, answer, rules().retry, now(second).moment);
        }
        let evicted: Vec<Moment> = state.evicted().values().copied().collect();
        assert_eq!(evicted, counted.map(|second| now(second).moment).into_iter().collect::<Vec<_>>(), "{answers:?}");
    }
}

#[test]
fn a_pod_that_is_deleting_is_waited_for_and_not_evicted_again() {
    let mut state = DrainState::default();
    let next = next(&rules(), &[deleting(pod("a"), 10_030)], &mut state, STARTED, now(0));
    assert_eq!((next.calls.len(), next.verdict), (0, None));
}

#[test]
fn a_blocked_pod_is_tried_again_after_pauses_that_grow() {
    let mut state = DrainState::default();
    let mut tried = Vec::new();
    for second in 0..120 {
        let step = next(&rules(), &[pod("a")], &mut state, STARTED, now(second));
        if !step.calls.is_empty() {
            make(&step, &mut state, second);
            state.answered(&at("a"), refused_by_budget("not now"), rules().retry, now(second).moment);
            tried.push(second);
        }
    }
    assert_eq!(tried, [0, 5, 15, 35, 75]);
}

#[test]
fn retry_after_is_honoured() {
    let mut state = DrainState::default();
    let answer = EvictionResult::EvictionRefused { message: "busy".into(), retry: Some(Duration::from_secs(40)) };
    state.answered(&at("a"), answer, rules().retry, now(0).moment);
    assert!(next(&rules(), &[pod("a")], &mut state, STARTED, now(39)).calls.is_empty());
    assert_eq!(next(&rules(), &[pod("a")], &mut state, STARTED, now(40)).calls.len(), 1);
}

#[test]
fn the_budget_that_blocks_is_asked_for_once_and_named() {
    let mut state = DrainState::default();
    state.answered(&at("a"), refused_by_budget("Cannot evict pod"), rules().retry, now(0).moment);
    assert_eq!(next(&rules(), &[pod("a")], &mut state, STARTED, now(1)).ask, [at("a")]);
    let budget = |name: &str, allowed| DisruptionBudget {
        namespace: "shop".into(),
        name: name.into(),
        pods: vec!["a".into()],
        disruptions_allowed: allowed,
        message: String::new(),
    };
    state.budgets(&at("a"), vec![budget("loose", 2), budget("web", 0)]);
    assert!(next(&rules(), &[pod("a")], &mut state, STARTED, now(2)).ask.is_empty());
    let verdict = next(&rules(), &[pod("a")], &mut state, STARTED, now(600)).verdict.unwrap();
    assert_eq!(verdict.refused_evictions, ["shop/a: Cannot evict pod; PodDisruptionBudget shop/web (allows 0)"]);
}

#[test]
fn what_does_not_go_is_known_while_it_is_waited_for() {
    let mut state = DrainState::default();
    let pods = [pod("a"), pod("b"), deleting(pod("c"), 10_005)];
    assert!(next(&rules(), &pods, &mut state, STARTED, now(0)).waits.is_empty());
    state.answered(&at("a"), refused_by_budget("not now"), rules().retry, now(0).moment);
    state.answered(&at("b"), EvictionResult::NamespaceTerminating, rules().retry, now(0).moment);
    let lines = |waits: Vec<PodWait>| waits.iter().map(ToString::to_string).collect::<Vec<_>>();
    let waits = lines(next(&rules(), &pods, &mut state, STARTED, now(1)).waits);
    assert_eq!(waits, ["shop/a: not now", "shop/b: its namespace is being deleted"]);
    let late = lines(next(&rules(), &pods, &mut state, STARTED, now(6)).waits);
    assert!(late.len() == 3 && late[2].starts_with("shop/c: it should have been gone"), "{late:?}");
}

#[test]
fn several_budgets_and_a_dying_namespace_have_reasons_of_their_own() {
    let mut state = DrainState::default();
    let several = EvictionResult::SeveralBudgets { message: "more than one".into() };
    state.answered(&at("a"), several, rules().retry, now(0).moment);
    state.answered(&at("b"), EvictionResult::NamespaceTerminating, rules().retry, now(0).moment);
    assert_eq!(names(&next(&rules(), &[pod("a"), pod("b")], &mut state, STARTED, now(5))), ["b"]);
    let verdict = next(&rules(), &[pod("a"), pod("b")], &mut state, STARTED, now(600)).verdict.unwrap();
    assert!(verdict.refused_evictions[0].contains("several PodDisruptionBudgets"), "{verdict:?}");
    assert!(verdict.refused_evictions[1].contains("namespace is being deleted"), "{verdict:?}");
}

#[test]
fn when_all_that_is_left_was_refused_for_good_the_drain_ends() {
    let mut state = DrainState::default();
    let _ = next(&rules(), &[pod("a"), pod("b")], &mut state, STARTED, now(0));
    state.answered(&at("a"), EvictionResult::Refused { message: "forbidden".into() }, rules().retry, now(0).moment);
    assert_eq!(next(&rules(), &[pod("a"), pod("b")], &mut state, STARTED, now(1)).verdict, None);
    let verdict = next(&rules(), &[pod("a")], &mut state, STARTED, now(9)).verdict.unwrap();
    assert_eq!(verdict.refused_evictions, ["shop/a: forbidden"]);
}

#[test]
fn the_end_of_the_total_is_left_to_force_where_it_is_asked_for() {
    let rules = DrainRules { force_on_timeout: true, ..rules() };
    let claim = Volume::Claim(VolumeClaim { one_node_only: Some(true), ..VolumeClaim::default() });
    let pods = [
        deleting(pod("hangs"), 10_030),
        pod("web"),
        Pod { owner: owner("StatefulSet"), ..pod("db") },
        Pod { volumes: vec![claim], ..pod("writer") },
    ];
    let mut state = DrainState::default();
    assert_eq!(next(&rules, &pods, &mut state, STARTED, now(569)).calls[0].kind, RemovalKind::Evict);
    let forced = next(&rules, &pods, &mut state, STARTED, now(570));
    let graces: BTreeMap<_, _> =
        forced.calls.iter().map(|call| (call.pod.name.as_str(), call.grace.unwrap().as_secs())).collect();
    assert_eq!(graces, BTreeMap::from([("hangs", 0), ("web", 0), ("db", 1), ("writer", 1)]));
    assert!(forced.calls.iter().all(|call| call.kind == RemovalKind::Delete));
    make(&forced, &mut state, 570);
    for call in &forced.calls {
        state.answered(&call.pod, EvictionResult::Accepted, rules.retry, now(570).moment);
    }
    assert!(next(&rules, &pods, &mut state, STARTED, now(571)).calls.is_empty());
    assert_eq!(next(&rules, &pods, &mut state, STARTED, now(580)).calls.len(), 4);
}

#[test]
fn force_comes_early_when_nothing_else_can_help() {
    let rules = DrainRules { force_on_timeout: true, ..rules() };
    let mut state = DrainState::default();
    let _ = next(&rules, &[pod("a")], &mut state, STARTED, now(0));
    state.answered(&at("a"), EvictionResult::Refused { message: "forbidden".into() }, rules.retry, now(0).moment);
    let forced = next(&rules, &[pod("a")], &mut state, STARTED, now(1));
    assert_eq!((forced.calls[0].kind, forced.verdict), (RemovalKind::Delete, None));
}

#[test]
fn another_pod_of_the_same_name_is_another_pod() {
    let mut state = DrainState::default();
    let first = next(&rules(), &[pod("a")], &mut state, STARTED, now(0));
    make(&first, &mut state, 0);
    let mut another = pod("a");
    another.at.uid = "uid-2".into();
    let second = next(&rules(), &[another], &mut state, STARTED, now(1));
    assert_eq!(second.calls[0].pod.uid, "uid-2");
}

#[test]
fn a_long_list_of_what_blocks_is_cut() {
    let pods: Vec<_> = (0..30).map(|n| pod(&format!("p{n:02}"))).collect();
    let verdict = next(&rules(), &pods, &mut DrainState::default(), STARTED, now(600)).verdict.unwrap();
    assert_eq!(verdict.refused_evictions.len(), 11);
    assert_eq!(verdict.refused_evictions[10], "and 20 more");
}

proptest! {
    /// Whatever is there and whatever was answered: nothing is called after the end, never more than the limit at once,
    /// and never a pod that the filters leave alone.
    #[test]
    fn no_call_is_made_that_the_rules_forbid(
        pods in prop::collection::vec((0u8..40, 0u8..6, any::<bool>()), 0..40),
        after in 0u64..900,
        force_on_timeout in any::<bool>(),
        blocked_pods in prop::collection::vec(0u8..40, 0..10),
    ) {
        let rules = DrainRules { force_on_timeout, ..rules() };
        let pods: Vec<_> = pods.into_iter().map(|(n, kind, gone)| {
            let name = format!("p{n}");
            let one = match kind {
                0 => Pod { owner: owner("DaemonSet"), ..pod(&name) },
                1 => Pod { mirror: true, ..pod(&name) },
                2 => Pod { owner: owner("StatefulSet"), ..pod(&name) },
                _ => pod(&name),
            };
            if gone { deleting(one, 10_000) } else { one }
        }).collect();
        let mut state = DrainState::default();
        for n in blocked_pods {
            state.answered(&at(&format!("p{n}")), refused_by_budget("no"), rules.retry, now(after.saturating_sub(3)).moment);
        }
        let step = next(&rules, &pods, &mut state, STARTED, now(after));
        prop_assert!(step.calls.len() <= 20);
        prop_assert!(step.calls.is_empty() || (after < 600 && step.verdict.is_none()));
        prop_assert!(step.until <= now(600).moment);
        for call in &step.calls {
            let called = pods.iter().find(|pod| pod.at == call.pod && classify(pod, &rules, now(after).wall) == PodDeleteStatus::Go);
            prop_assert!(called.is_some());
        }
    }
}
