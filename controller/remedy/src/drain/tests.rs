use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::{
    api::{fence::DrainReport, policy::Requirement},
    facts::{Budget, Claim, Deletion, Owner, Pod, PodRef, Volume},
    time::{Moment, Now},
};

const STARTED: Moment = Moment(Duration::from_secs(1000));

fn at(name: &str) -> PodRef {
    PodRef { namespace: "shop".into(), name: name.into(), uid: format!("uid-{name}") }
}

fn owner(kind: &str) -> Option<Owner> {
    Some(Owner { kind: kind.into(), name: "owner".into(), uid: "o".into(), gone: false })
}

fn pod(name: &str) -> Pod {
    Pod {
        at: at(name),
        node: "n1".into(),
        phase: "Running".into(),
        ready: true,
        created: None,
        owner: owner("ReplicaSet"),
        owned_by_others: false,
        deleting: None,
        mirror: false,
        grace: Duration::from_secs(30),
        labels: BTreeMap::from([("app".into(), "web".into())]),
        annotations: BTreeMap::new(),
        tolerations: Vec::new(),
        volumes: Vec::new(),
        finalizers: false,
    }
}

fn deleting(mut pod: Pod, at_second: i64) -> Pod {
    pod.deleting = Some(Deletion { at: Timestamp::from_second(at_second).unwrap(), grace: Duration::from_secs(30) });
    pod
}

fn rules() -> DrainRules {
    DrainRules::of(&DrainStep::default()).unwrap()
}

fn now(after: u64) -> Now {
    Now {
        moment: STARTED.plus(Duration::from_secs(after)),
        wall: Timestamp::from_second(10_000 + i64::try_from(after).unwrap()).unwrap(),
    }
}

fn sorted(pod: &Pod, rules: &DrainRules) -> Sorted {
    sort(pod, rules, now(0).wall)
}

fn refusal(pod: &Pod, rules: &DrainRules) -> String {
    match sorted(pod, rules) {
        Sorted::Refused(why) => why,
        other => panic!("{other:?}"),
    }
}

fn stays(pod: &Pod, rules: &DrainRules) -> bool {
    matches!(sorted(pod, rules), Sorted::Stays(_))
}

fn names(next: &DrainNext) -> Vec<&str> {
    next.calls.iter().map(|call| call.pod.name.as_str()).collect()
}

/// Marks the calls as made.
fn make(next: &DrainNext, state: &mut DrainState, after: u64) {
    for call in &next.calls {
        state.called(&call.pod, call.forced, now(after).moment);
    }
}

fn blocked(message: &str) -> Answer {
    Answer::Blocked { message: message.into(), retry: None }
}

#[test]
fn defaults_are_kubectls_and_careful() {
    let rules = rules();
    assert_eq!(rules.timeout, Duration::from_secs(600));
    assert_eq!(rules.retry, Duration::from_secs(5));
    assert!(rules.ignore_daemon_sets && !rules.force && !rules.delete_empty_dir_data && !rules.force_on_timeout);
    assert_eq!(rules.forced_for(), Duration::ZERO);
}

#[test]
fn every_mistake_of_a_step_is_told_with_its_field() {
    let wrong = Requirement { key: "a".into(), operator: "Like".into(), values: Vec::new() };
    let step = DrainStep {
        timeout: Span("soon".into()),
        retry: Some(Span("-5s".into())),
        skip_wait_for_delete_timeout: Some(Span("1".into())),
        pod_selector: Some(Selector { match_expressions: vec![wrong], ..Selector::default() }),
        ..DrainStep::default()
    };
    let errors = DrainRules::of(&step).unwrap_err();
    let fields: Vec<_> = errors.iter().map(|error| error.field.as_str()).collect();
    assert_eq!(fields, ["timeout", "skipWaitForDeleteTimeout", "retry", "podSelector.matchExpressions[0].operator"]);
}

#[test]
fn no_time_at_all_is_a_mistake_and_no_skip_is_none() {
    let none = |text: &str| Some(Span(text.into()));
    let errors = DrainRules::of(&DrainStep { timeout: Span("0s".into()), ..DrainStep::default() }).unwrap_err();
    assert_eq!(errors[0].to_string(), "timeout: 0 would leave no time at all");
    let step = DrainStep { skip_wait_for_delete_timeout: none("0s"), retry: none("0s"), ..DrainStep::default() };
    let rules = DrainRules::of(&step).unwrap();
    assert_eq!(sorted(&deleting(pod("a"), 9_000), &rules), Sorted::Go);
    let mut state = DrainState::default();
    state.answered(&at("a"), blocked("no"), rules.retry, now(0).moment);
    assert!(next(&rules, &[pod("a")], &mut state, STARTED, now(0)).calls.is_empty());
    assert_eq!(next(&rules, &[pod("a")], &mut state, STARTED, now(1)).calls.len(), 1);
}

#[test]
fn force_has_the_last_fifth_and_no_more_than_30_s() {
    let of = |secs| DrainRules { timeout: Duration::from_secs(secs), force_on_timeout: true, ..rules() }.forced_for();
    assert_eq!((of(50), of(600)), (Duration::from_secs(10), Duration::from_secs(30)));
}

#[test]
fn a_daemon_sets_pod_stays_or_stands_in_the_way() {
    let one = Pod { owner: owner("DaemonSet"), ..pod("d") };
    assert!(stays(&one, &rules()));
    assert!(refusal(&one, &DrainRules { ignore_daemon_sets: false, ..rules() }).contains("ignoreDaemonSets"));
    let finished = Pod { phase: "Failed".into(), ..one };
    assert_eq!(sorted(&finished, &rules()), Sorted::Go);
}

#[test]
fn the_pod_of_a_daemon_set_that_is_gone_needs_force() {
    let mut orphan = Pod { owner: owner("DaemonSet"), ..pod("d") };
    orphan.owner.as_mut().unwrap().gone = true;
    assert!(refusal(&orphan, &rules()).contains("force: true"));
    assert_eq!(sorted(&orphan, &DrainRules { force: true, ..rules() }), Sorted::Go);
}

#[test]
fn a_static_pod_stays_whatever_owns_it() {
    let one = Pod { mirror: true, owner: owner("Node"), ..pod("etcd") };
    assert!(stays(&one, &DrainRules { force: true, ..rules() }));
}

#[test]
fn an_empty_dir_needs_the_flag_unless_the_pod_is_finished() {
    let one = Pod { volumes: vec![Volume::EmptyDir { name: "cache".into() }], ..pod("c") };
    let why = refusal(&one, &rules());
    assert!(why.contains("cache") && why.contains("deleteEmptyDirData"), "{why}");
    assert_eq!(sorted(&one, &DrainRules { delete_empty_dir_data: true, ..rules() }), Sorted::Go);
    assert_eq!(sorted(&Pod { phase: "Succeeded".into(), ..one }, &rules()), Sorted::Go);
}

#[test]
fn a_pod_that_nothing_makes_again_needs_force() {
    let bare = Pod { owner: None, ..pod("bare") };
    assert!(refusal(&bare, &rules()).contains("force"));
    assert!(refusal(&Pod { owned_by_others: true, ..bare.clone() }, &rules()).contains("none of its owners"));
    assert_eq!(sorted(&bare, &DrainRules { force: true, ..rules() }), Sorted::Go);
    assert_eq!(sorted(&Pod { phase: "Succeeded".into(), ..bare }, &rules()), Sorted::Go);
}

#[test]
fn a_pod_that_is_deleting_for_too_long_is_not_waited_for() {
    let rules = DrainRules { skip_deleting_for: Some(Duration::from_secs(60)), ..rules() };
    assert!(stays(&deleting(pod("old"), 10_000 - 61), &rules));
    assert_eq!(sorted(&deleting(pod("new"), 10_000 - 60), &rules), Sorted::Go);
}

#[test]
fn a_selector_leaves_others_alone_even_where_they_would_stand_in_the_way() {
    let requirement = |operator: &str, values: &[&str]| Requirement {
        key: "app".into(),
        operator: operator.into(),
        values: values.iter().map(ToString::to_string).collect(),
    };
    let with = |one| {
        let selector = Selector { match_expressions: vec![one], ..Selector::default() };
        DrainRules { pod_selector: Some(selector), ..rules() }
    };
    for (one, goes) in [
        (requirement("In", &["web"]), true),
        (requirement("In", &["db"]), false),
        (requirement("NotIn", &["db"]), true),
        (requirement("Exists", &[]), true),
        (requirement("DoesNotExist", &[]), false),
        (requirement("Like", &["web"]), false),
    ] {
        assert_eq!(sorted(&pod("p"), &with(one.clone())) == Sorted::Go, goes, "{one:?}");
    }
    assert!(stays(&Pod { owner: None, ..pod("bare") }, &with(requirement("In", &["db"]))));
}

#[test]
fn each_pod_can_be_described() {
    let lines: Vec<_> =
        [pod("a"), deleting(pod("b"), 10_030), Pod { mirror: true, ..pod("c") }, Pod { owner: None, ..pod("d") }]
            .iter()
            .map(|pod| describe(pod, &rules(), now(0).wall))
            .collect();
    assert_eq!(
        lines,
        [
            "shop/a: goes",
            "shop/b: is being deleted; waited for",
            "shop/c: stays: a static pod: only the node itself can stop it",
            "shop/d: stands in the way: no controller makes it again; force: true would delete it",
        ]
    );
}

#[test]
fn a_pod_in_the_way_ends_the_drain_before_anything_is_evicted() {
    let pods = [pod("a"), Pod { owner: None, ..pod("bare") }];
    let next = next(&rules(), &pods, &mut DrainState::default(), STARTED, now(0));
    assert!(next.calls.is_empty());
    let verdict = next.verdict.unwrap();
    assert!(!verdict.done);
    assert!(verdict.blocked[0].starts_with("shop/bare: no controller"), "{verdict:?}");
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
    assert_eq!(next.verdict, Some(DrainReport { done: true, blocked: Vec::new() }));
}

#[test]
fn evictions_name_the_pods_uid_and_the_wanted_grace() {
    let rules = DrainRules { grace: Some(Duration::from_secs(7)), ..rules() };
    let next = next(&rules, &[pod("a")], &mut DrainState::default(), STARTED, now(0));
    let wanted = Call { pod: at("a"), way: Way::Evict, grace: Some(Duration::from_secs(7)), forced: false };
    assert_eq!(next.calls, [wanted]);
    assert_eq!(next.until, now(1).moment);
}

#[test]
fn without_eviction_pods_are_deleted() {
    let rules = DrainRules { disable_eviction: true, ..rules() };
    let next = next(&rules, &[pod("a")], &mut DrainState::default(), STARTED, now(0));
    assert_eq!((next.calls[0].way, next.calls[0].grace), (Way::Delete, None));
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
    state.answered(&first.calls[0].pod, Answer::Accepted, rules().retry, now(1).moment);
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
    assert_eq!(next(&rules(), &pods, &mut state, STARTED, now(60)).calls.len(), 4);
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
            state.answered(&at("a"), blocked("not now"), rules().retry, now(second).moment);
            tried.push(second);
        }
    }
    assert_eq!(tried, [0, 5, 15, 35, 75]);
}

#[test]
fn retry_after_is_honoured() {
    let mut state = DrainState::default();
    let answer = Answer::Blocked { message: "busy".into(), retry: Some(Duration::from_secs(40)) };
    state.answered(&at("a"), answer, rules().retry, now(0).moment);
    assert!(next(&rules(), &[pod("a")], &mut state, STARTED, now(39)).calls.is_empty());
    assert_eq!(next(&rules(), &[pod("a")], &mut state, STARTED, now(40)).calls.len(), 1);
}

#[test]
fn the_budget_that_blocks_is_asked_for_once_and_named() {
    let mut state = DrainState::default();
    state.answered(&at("a"), blocked("Cannot evict pod"), rules().retry, now(0).moment);
    assert_eq!(next(&rules(), &[pod("a")], &mut state, STARTED, now(1)).ask, [at("a")]);
    let budget = |name: &str, allowed| Budget {
        namespace: "shop".into(),
        name: name.into(),
        pods: vec!["a".into()],
        disruptions_allowed: allowed,
        message: String::new(),
    };
    state.budgets(&at("a"), vec![budget("loose", 2), budget("web", 0)]);
    assert!(next(&rules(), &[pod("a")], &mut state, STARTED, now(2)).ask.is_empty());
    let verdict = next(&rules(), &[pod("a")], &mut state, STARTED, now(600)).verdict.unwrap();
    assert_eq!(verdict.blocked, ["shop/a: Cannot evict pod; PodDisruptionBudget shop/web (allows 0)"]);
}

#[test]
fn several_budgets_and_a_dying_namespace_have_reasons_of_their_own() {
    let mut state = DrainState::default();
    let several = Answer::SeveralBudgets { message: "more than one".into() };
    state.answered(&at("a"), several, rules().retry, now(0).moment);
    state.answered(&at("b"), Answer::NamespaceTerminating, rules().retry, now(0).moment);
    assert_eq!(names(&next(&rules(), &[pod("a"), pod("b")], &mut state, STARTED, now(5))), ["b"]);
    let verdict = next(&rules(), &[pod("a"), pod("b")], &mut state, STARTED, now(600)).verdict.unwrap();
    assert!(verdict.blocked[0].contains("several PodDisruptionBudgets"), "{verdict:?}");
    assert!(verdict.blocked[1].contains("namespace is being deleted"), "{verdict:?}");
}

#[test]
fn when_all_that_is_left_was_refused_for_good_the_drain_ends() {
    let mut state = DrainState::default();
    let _ = next(&rules(), &[pod("a"), pod("b")], &mut state, STARTED, now(0));
    state.answered(&at("a"), Answer::Refused { message: "forbidden".into() }, rules().retry, now(0).moment);
    assert_eq!(next(&rules(), &[pod("a"), pod("b")], &mut state, STARTED, now(1)).verdict, None);
    let verdict = next(&rules(), &[pod("a")], &mut state, STARTED, now(9)).verdict.unwrap();
    assert_eq!(verdict.blocked, ["shop/a: forbidden"]);
}

#[test]
fn the_end_of_the_total_is_left_to_force_where_it_is_asked_for() {
    let rules = DrainRules { force_on_timeout: true, ..rules() };
    let claim = Volume::Claim(Claim { one_node_only: Some(true), ..Claim::default() });
    let pods = [
        deleting(pod("hangs"), 10_030),
        pod("web"),
        Pod { owner: owner("StatefulSet"), ..pod("db") },
        Pod { volumes: vec![claim], ..pod("writer") },
    ];
    let mut state = DrainState::default();
    assert_eq!(next(&rules, &pods, &mut state, STARTED, now(569)).calls[0].way, Way::Evict);
    let forced = next(&rules, &pods, &mut state, STARTED, now(570));
    let graces: BTreeMap<_, _> =
        forced.calls.iter().map(|call| (call.pod.name.as_str(), call.grace.unwrap().as_secs())).collect();
    assert_eq!(graces, BTreeMap::from([("hangs", 0), ("web", 0), ("db", 1), ("writer", 1)]));
    assert!(forced.calls.iter().all(|call| call.way == Way::Delete));
    make(&forced, &mut state, 570);
    for call in &forced.calls {
        state.answered(&call.pod, Answer::Accepted, rules.retry, now(570).moment);
    }
    assert!(next(&rules, &pods, &mut state, STARTED, now(571)).calls.is_empty());
    assert_eq!(next(&rules, &pods, &mut state, STARTED, now(580)).calls.len(), 4);
}

#[test]
fn force_comes_early_when_nothing_else_can_help() {
    let rules = DrainRules { force_on_timeout: true, ..rules() };
    let mut state = DrainState::default();
    let _ = next(&rules, &[pod("a")], &mut state, STARTED, now(0));
    state.answered(&at("a"), Answer::Refused { message: "forbidden".into() }, rules.retry, now(0).moment);
    let forced = next(&rules, &[pod("a")], &mut state, STARTED, now(1));
    assert_eq!((forced.calls[0].way, forced.verdict), (Way::Delete, None));
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
    assert_eq!(verdict.blocked.len(), 11);
    assert_eq!(verdict.blocked[10], "and 20 more");
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
            state.answered(&at(&format!("p{n}")), blocked("no"), rules.retry, now(after.saturating_sub(3)).moment);
        }
        let step = next(&rules, &pods, &mut state, STARTED, now(after));
        prop_assert!(step.calls.len() <= 20);
        prop_assert!(step.calls.is_empty() || (after < 600 && step.verdict.is_none()));
        prop_assert!(step.until <= now(600).moment);
        for call in &step.calls {
            let called = pods.iter().find(|pod| pod.at == call.pod && sort(pod, &rules, now(after).wall) == Sorted::Go);
            prop_assert!(called.is_some());
        }
    }
}
