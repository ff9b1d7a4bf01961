//! A drain of made-up pods, and the rules for it.

mod left;
mod rounds;
mod sorting;

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;

use super::*;
use crate::{
    api::policy::Requirement,
    facts::{Deletion, Owner, Pod, PodRef, Volume},
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
        owner: owner("ReplicaSet"),
        grace: Duration::from_secs(30),
        labels: BTreeMap::from([("app".into(), "web".into())]),
        ..Pod::default()
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

fn sorted(pod: &Pod, rules: &DrainRules) -> PodDeleteStatus {
    classify(pod, rules, now(0).wall)
}

fn refusal(pod: &Pod, rules: &DrainRules) -> String {
    match sorted(pod, rules) {
        PodDeleteStatus::Refused(why) => why,
        other => panic!("{other:?}"),
    }
}

fn stays(pod: &Pod, rules: &DrainRules) -> bool {
    matches!(sorted(pod, rules), PodDeleteStatus::Stays(_))
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

fn refused_by_budget(message: &str) -> EvictionResult {
    EvictionResult::EvictionRefused { message: message.into(), retry: None }
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
fn every_mistake_of_a_step_is_reported_with_its_field() {
    let wrong = Requirement { key: "a".into(), operator: "Like".into(), values: Vec::new() };
    let step = DrainStep {
        timeout: DurationString("soon".into()),
        retry: Some(DurationString("-5s".into())),
        skip_wait_for_delete_timeout: Some(DurationString("1".into())),
        pod_selector: Some(Selector { match_expressions: vec![wrong], ..Selector::default() }),
        ..DrainStep::default()
    };
    let errors = DrainRules::of(&step).unwrap_err();
    let fields: Vec<_> = errors.iter().map(|error| error.field.as_str()).collect();
    assert_eq!(fields, ["timeout", "skipWaitForDeleteTimeout", "retry", "podSelector.matchExpressions[0].operator"]);
}

#[test]
fn one_mistake_is_enough() {
    let wrong = Requirement { key: "a".into(), operator: "Like".into(), values: Vec::new() };
    let selector = Some(Selector { match_expressions: vec![wrong], ..Selector::default() });
    let skip = Some(DurationString("soon".into()));
    for step in [
        DrainStep { pod_selector: selector, ..DrainStep::default() },
        DrainStep { skip_wait_for_delete_timeout: skip, ..DrainStep::default() },
        DrainStep { grace_period_seconds: Some(0), ..DrainStep::default() },
    ] {
        assert_eq!(DrainRules::of(&step).unwrap_err().len(), 1, "{step:?}");
    }
}

#[test]
fn no_time_at_all_is_a_mistake_and_no_skip_is_none() {
    let none = |text: &str| Some(DurationString(text.into()));
    let errors =
        DrainRules::of(&DrainStep { timeout: DurationString("0s".into()), ..DrainStep::default() }).unwrap_err();
    assert_eq!(errors[0].to_string(), "timeout: 0 would leave no time at all");
    let step = DrainStep { skip_wait_for_delete_timeout: none("0s"), retry: none("0s"), ..DrainStep::default() };
    let rules = DrainRules::of(&step).unwrap();
    assert_eq!(sorted(&deleting(pod("a"), 9_000), &rules), PodDeleteStatus::Go);
    let mut state = DrainState::default();
    state.answered(&at("a"), refused_by_budget("no"), rules.retry, now(0).moment);
    assert!(next(&rules, &[pod("a")], &mut state, STARTED, now(0)).calls.is_empty());
    assert_eq!(next(&rules, &[pod("a")], &mut state, STARTED, now(1)).calls.len(), 1);
}

/// The kubelet then has ended a pod's containers before the pod leaves the API.
#[test]
fn a_second_is_the_least_grace() {
    let of = |seconds| DrainRules::of(&DrainStep { grace_period_seconds: Some(seconds), ..DrainStep::default() });
    assert!(of(0).unwrap_err()[0].to_string().starts_with("gracePeriodSeconds: 0 would"));
    assert_eq!(of(1).unwrap().grace, Some(Duration::from_secs(1)));
}

#[test]
fn force_has_the_last_fifth_and_no_more_than_30_s() {
    let of = |secs| DrainRules { timeout: Duration::from_secs(secs), force_on_timeout: true, ..rules() }.forced_for();
    assert_eq!((of(50), of(600)), (Duration::from_secs(10), Duration::from_secs(30)));
}
