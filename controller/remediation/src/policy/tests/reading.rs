//! What is read, and what is filled in.

use std::{collections::BTreeMap, path::Path, time::Duration};

use proptest::prelude::*;

use super::*;
use crate::api::policy::{Amount, Requirement};

#[test]
fn spans_are_read_as_people_write_them() {
    for (text, millis) in
        [("0s", 0), ("30s", 30_000), ("5m", 300_000), ("1h30m", 5_400_000), ("2d", 172_800_000), ("1s500ms", 1500)]
    {
        assert_eq!(duration::parse(text), Ok(Duration::from_millis(millis)), "{text}");
    }
    for text in ["", "5", "m", "5 m", "30m1h", "1m1m", "-5m", "1.5h", "5x", "5M", "99999999999999999999s", "500d", "٣s"]
    {
        assert!(duration::parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_share_is_rounded_down_and_at_least_one_node() {
    for (text, of_nine) in [("3", 3), ("10%", 1), ("1%", 1), ("50%", 4), ("100%", 9), ("0%", 0)] {
        assert_eq!(CountOrPercent::read(&Amount::Text(text.into())).unwrap().of(9), of_nine, "{text}");
    }
    assert_eq!(CountOrPercent::read(&Amount::Count(7)).unwrap().of(5), 7);
    assert_eq!(CountOrPercent::Percent(50).of(0), 0, "of none there is none");
    for text in ["", "%", "101%", "-1", "+3", "3.5", "10 %", "ten", "99999999999"] {
        assert!(CountOrPercent::read(&Amount::Text(text.into())).is_err(), "{text}");
    }
}

#[test]
fn selectors_match_as_kubernetes_does() {
    let labels: BTreeMap<String, String> = [("a".to_owned(), "1".to_owned()), ("b".to_owned(), String::new())].into();
    let one = |key: &str, operator: &str, values: &[&str]| Selector {
        match_labels: BTreeMap::new(),
        match_expressions: vec![Requirement {
            key: key.into(),
            operator: operator.into(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        }],
    };
    for (key, operator, values, matched) in [
        ("a", "In", &["1", "2"][..], true),
        ("a", "In", &["2"], false),
        ("c", "In", &["1"], false),
        ("a", "NotIn", &["1"], false),
        ("c", "NotIn", &["1"], true),
        ("b", "Exists", &[], true),
        ("c", "Exists", &[], false),
        ("a", "DoesNotExist", &[], false),
        ("c", "DoesNotExist", &[], true),
        ("a", "exists", &[], false),
    ] {
        assert_eq!(selector::matches(&one(key, operator, values), &labels), matched, "{key} {operator} {values:?}");
    }
    assert!(selector::matches(&Selector::default(), &labels));
    let exact = |value: &str| Selector { match_labels: [("a".into(), value.into())].into(), ..Selector::default() };
    assert!(selector::matches(&exact("1"), &labels) && !selector::matches(&exact("2"), &labels));
}

#[test]
fn every_default_is_the_careful_one() {
    let policy = compile(&with("")).unwrap();
    assert_eq!((policy.mode, policy.control_plane), (Mode::Observe, ControlPlane::Never));
    assert_eq!(policy.budget.cluster, CountOrPercent::Count(1));
    assert_eq!((policy.budget.zone, policy.budget.max_concurrent), (CountOrPercent::Count(1), Some(1)));
    assert_eq!((policy.cordon_budget.cluster, policy.cordon_budget.max_concurrent), (CountOrPercent::Count(1), None));
    assert_eq!(policy.node_startup_grace_period, Duration::from_secs(300));
    assert_eq!(policy.reboot_grace_period, Duration::from_secs(600));
    assert_eq!(policy.storm.unhealthy, CountOrPercent::Percent(30));
    assert_eq!(policy.storm.rate, Rate { count: 5, window: Duration::from_secs(60) });
    assert_eq!(
        (policy.storm.cooldown, policy.storm.reachable),
        (Duration::from_secs(600), CountOrPercent::Percent(50))
    );
    assert_eq!(policy.power_cycles, Rate { count: 2, window: Duration::from_secs(86_400) });
    assert_eq!(policy.off_until, OffUntil::Released);
    assert!(policy.fast.is_none());
}

#[test]
fn steps_carry_their_defaults_with_them() {
    let policy = compile(&with("steps: [{taint: {}}, {cordon: {}}, {drain: {}}, {reboot: {}}]")).unwrap();
    let json = serde_json::to_value(&policy.steps).unwrap();
    assert_eq!(json[0]["taint"]["key"], "nodewell.dev/remediation");
    assert_eq!(json[0]["taint"]["effect"], "NoSchedule");
    assert_eq!((&json[2]["drain"]["timeout"], &json[2]["drain"]["retry"]), (&"10m".into(), &"5s".into()));
    assert_eq!((&json[3]["reboot"]["readyTimeout"], &json[3]["reboot"]["kdumpWait"]), (&"10m".into(), &"0s".into()));
    assert_eq!((&json[1]["thenWait"], &json[3]["thenWait"]), (&"0s".into(), &"5m".into()));
}

#[test]
fn the_shipped_examples_compile() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/policies");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let policy = compile(&std::fs::read_to_string(&path).unwrap());
        let policy = policy.unwrap_or_else(|diagnostics| panic!("{}: {diagnostics:?}", path.display()));
        assert_eq!(Some(policy.name.as_str()), path.file_stem().and_then(|stem| stem.to_str()));
        names.push(policy.name);
    }
    names.sort();
    assert_eq!(names, ["cordon-gpu-faults", "dead-nodes", "drain-and-reboot", "reap"]);
}

proptest! {
    #[test]
    fn a_span_that_is_shown_is_read_as_itself(millis in 0_u64..31_622_400_000) {
        let span = Duration::from_millis(millis);
        prop_assert_eq!(duration::parse(&duration::show(span)), Ok(span));
    }

    #[test]
    fn no_text_is_too_strange_for_a_span(text in ".{0,12}") {
        let _ = duration::parse(&text);
        let _ = CountOrPercent::read(&Amount::Text(text));
    }
}
