//! What a drain reports of the pods that are still there.

use super::*;
use crate::facts::DisruptionBudget;

fn waits(next: &DrainNext) -> Vec<String> {
    next.waits.iter().map(ToString::to_string).collect()
}

#[test]
fn pods_that_stay_by_choice_and_would_end_with_the_power_are_counted() {
    let selector = Selector { match_labels: [("app".into(), "db".into())].into(), ..Selector::default() };
    let rules = DrainRules { pod_selector: Some(selector), ..rules() };
    let pods = [pod("a"), pod("b"), pod("c"), Pod { mirror: true, ..pod("etcd") }];
    let verdict = next(&rules, &pods, &mut DrainState::default(), STARTED, now(0)).verdict.unwrap();
    assert_eq!((verdict.done, verdict.left), (true, 3));
}

#[test]
fn a_pod_hangs_when_the_time_of_its_deletion_is_over() {
    let (mut state, pods) = (DrainState::default(), [Pod { finalizers: true, ..deleting(pod("a"), 10_030) }]);
    assert_eq!(waits(&next(&rules(), &pods, &mut state, STARTED, now(30))), [""; 0]);
    let expected = "shop/a: it should have been gone by 1970-01-01T02:47:10Z, the kubelet has not said so; \
                    it has finalizers";
    assert_eq!(waits(&next(&rules(), &pods, &mut state, STARTED, now(31))), [expected]);
    let awaited = awaited(&rules(), &pods, now(0));
    assert_eq!(awaited[0].line(&[]), "shop/a: is being deleted, by 1970-01-01T02:47:10Z; it has finalizers");
}

#[test]
fn the_budgets_of_a_pod_are_asked_for_once_and_named_while_they_refuse() {
    let budget = DisruptionBudget {
        namespace: "shop".into(),
        name: "web".into(),
        pods: Vec::new(),
        disruptions_allowed: 0,
        message: String::new(),
    };
    let (mut state, pods, retry) = (DrainState::default(), [pod("a")], rules().retry);
    state.answered(&at("a"), refused_by_budget("no"), retry, now(0).moment);
    assert_eq!(next(&rules(), &pods, &mut state, STARTED, now(0)).ask, [at("a")]);
    state.asked(&at("a"));
    let asked = next(&rules(), &pods, &mut state, STARTED, now(0));
    assert_eq!((asked.ask.len(), waits(&asked)), (0, vec!["shop/a: no".to_owned()]), "no answer yet");
    state.budgets(&at("a"), vec![budget]);
    let refused = waits(&next(&rules(), &pods, &mut state, STARTED, now(0)));
    assert_eq!(refused, ["shop/a: no; PodDisruptionBudget shop/web (allows 0)"]);
    state.answered(&at("a"), EvictionResult::Failed { message: "no answer".into() }, retry, now(1).moment);
    assert_eq!(waits(&next(&rules(), &pods, &mut state, STARTED, now(1))), ["shop/a: no answer"]);
}

/// Nor one whose deletion has begun: its kubelet ends it.
#[test]
fn a_pod_that_is_refused_for_good_is_not_asked_for_again() {
    let (mut state, retry) = (DrainState::default(), rules().retry);
    let refused = || EvictionResult::Refused { message: "no such version".into() };
    state.answered(&at("a"), refused(), retry, now(0).moment);
    for name in ["b", "c"] {
        state.answered(&at(name), refused_by_budget("no"), retry, now(0).moment);
    }
    let pods = [pod("a"), pod("b"), deleting(pod("c"), 10_030)];
    assert_eq!(names(&next(&rules(), &pods, &mut state, STARTED, now(4))), [""; 0]);
    assert_eq!(names(&next(&rules(), &pods, &mut state, STARTED, now(5))), ["b"]);
}

/// Of one that was asked its answer is reported.
#[test]
fn a_pod_that_was_never_asked_had_no_time() {
    let (mut state, pods) = (DrainState::default(), [pod("a"), pod("b")]);
    state.answered(&at("a"), refused_by_budget("no"), rules().retry, now(0).moment);
    let mut at_second = |second| next(&rules(), &pods, &mut state, STARTED, now(second)).verdict;
    assert_eq!(at_second(599), None);
    let report = at_second(600).unwrap();
    assert!(!report.done);
    assert_eq!(report.refused_evictions, ["shop/a: no", "shop/b: there was no time for it within 600 s"]);
}
