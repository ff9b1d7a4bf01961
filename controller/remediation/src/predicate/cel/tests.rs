//! Expressions over one node: what they see, and what becomes of wrong ones.

mod typed;

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::{
    facts::{ConditionStatus, Effect, LeaseView, Taint},
    snapshot::EventsSeen,
    testing,
    time::Moment,
};

fn facts() -> (Node, Snapshot) {
    let mut node = testing::node("n1");
    node.labels.insert("gpu".into(), "a100".into());
    node.labels.insert(crate::facts::ZONE.into(), "z1".into());
    node.taints.push(Taint { key: "k".into(), value: "v".into(), effect: Effect::NoSchedule });
    testing::set_condition(&mut node, "GpuUnhealthy", ConditionStatus::True, "Xid79", testing::at(940));
    let mut snapshot = Snapshot::default();
    let lease = LeaseView {
        resource_version: String::new(),
        holder: "n1".into(),
        renewed: None,
        duration: Duration::from_secs(40),
        change_seen_at: testing::at(945),
    };
    snapshot.kubelet_leases.insert("n1".into(), lease);
    let seen = EventsSeen {
        count: 3,
        last: testing::at(990),
        age_when_seen: std::time::Duration::ZERO,
        reporters: ["disk-monitor", "kubelet"].map(str::to_owned).into(),
    };
    snapshot.events.insert("n1".into(), [("Rebooted".to_owned(), seen)].into());
    (node, snapshot)
}

fn judge(source: &str) -> Result<bool, String> {
    let (node, snapshot) = facts();
    Expression::compile(source).map_err(|error| format!("compile: {error}"))?.judge(
        &node,
        &snapshot,
        testing::now(1000),
    )
}

#[test]
fn expressions_see_the_whole_node() {
    for source in [
        "true",
        "node.name == 'n1' && node.ready && !node.unschedulable && !node.controlPlane",
        "node.labels.gpu == 'a100' && node.labels['gpu'].startsWith('a')",
        "'gpu' in node.labels && !('tpu' in node.labels) && !has(node.labels.tpu)",
        "node.zone == 'z1'",
        "node.taints.exists(t, t.key == 'k' && t.effect == 'NoSchedule')",
        "node.annotations == {}",
        "node.age > duration('1h') && node.age < duration('366d') || node.age > 0",
        "conditions.Ready.status == 'True' && conditions.Ready.reason == 'KubeletReady'",
        "conditions.GpuUnhealthy.age == 60 && conditions.GpuUnhealthy.age >= duration('1m')",
        "has(conditions.Ready) && !has(conditions.Other) && 'Ready' in conditions",
        "events.Rebooted.reporters == ['disk-monitor', 'kubelet'] && 'kubelet' in events.Rebooted.reporters",
        "conditions.exists(c, c != 'Ready' && conditions[c].status == 'True')",
        "lease.present && lease.age == 55 && !agentLease.present && !has(agentLease.age)",
        "events.Rebooted.count == 3 && events.Rebooted.age == 10 && !has(events.Other)",
        "conditions.?Other.?status.orValue('none') == 'none'",
        "type(node.name) == string && size(conditions) == 2",
        "!(node.labels.gpu in ['h100', 'b200'])",
    ] {
        assert_eq!(judge(source), Ok(true), "{source}");
    }
}

#[test]
fn what_is_missing_is_an_error_of_that_node() {
    for source in [
        "conditions.Other.status == 'True'",
        "!(conditions.Other.status == 'True')",
        "agentLease.age > 10",
        "node.labels.rack == 'r1'",
    ] {
        let answer = judge(source);
        assert!(answer.as_ref().is_err_and(|error| !error.starts_with("compile")), "{source}: {answer:?}");
    }
}

#[test]
fn a_missing_name_says_how_to_ask() {
    let error = judge("conditions.Other.status == 'True'").unwrap_err();
    assert_eq!(error, "`Other` is not there; ask before with has(….Other) or 'Other' in …");
}

#[test]
fn what_can_never_be_right_is_refused_when_it_is_read() {
    for (source, expected) in [
        ("", "is empty"),
        ("condition.Ready.status == 'True'", "there is no `condition`; is `conditions` meant?"),
        ("node.label.x == 'y'", "`node` has no `label`"),
        ("conditions.Ready.state == 'True'", "has no `state`"),
        ("conditions['Ready'].state == 'True'", "has no `state`"),
        ("lease.seconds > 5", "has no `seconds`"),
        ("node.name.matches('a.*')", "no regular expressions"),
        ("frobnicate(node.name)", "no function `frobnicate`"),
        ("node.age > duration('5 minutes')", "duration('5 minutes')"),
        ("'True'", "not a condition"),
        ("node.ready and node.unschedulable", "`&&`"),
        ("node.name = 'x'", "`==`"),
        ("node.ready &&", "line 1, column"),
        ("acme.User{name: 'x'}.name == 'x'", ""),
        ("[1].all(a, [1].all(b, [1].all(c, true)))", "loops"),
    ] {
        let error = Expression::compile(source).map(|_| ()).unwrap_err();
        assert!(error.contains(expected), "{source}: {error}");
    }
    assert!(Expression::compile(&format!("true{}", " || true".repeat(900))).is_err());
    assert!(Expression::compile(&format!("{}true{}", "(".repeat(40), ")".repeat(40))).is_err());
    assert!(Expression::compile(&format!("{}true", "!".repeat(200))).is_err());
    assert!(Expression::compile(&format!("1 in [{}1]", "1,".repeat(100))).is_err());
}

#[test]
fn arithmetic_at_its_edges_is_an_error_and_no_panic() {
    for source in [
        "9223372036854775807 + 1 > 0",
        "-9223372036854775808 - 1 > 0",
        "(-9223372036854775807 - 1) / -1 > 0",
        "(-9223372036854775807 - 1) % -1 > 0",
        "-(-9223372036854775807 - 1) > 0",
        "1 / 0 > 0",
        "1 % 0 > 0",
        "int(1e300) > 0",
        "uint(-1) > 0u",
        "string(b'\\xff') == ''",
        "[1][-1] == 1",
        "[1][5] == 1",
        "node.name[0] == 'n'",
        "{1: 2, 1: 3}[1] == 2",
        "{node.taints: 1} == {}",
        "duration(5) > 0",
        "duration(node.name) > 0",
        "node.name.contains(5)",
        "optional.none().value()",
        "conditions.all(c, conditions)",
        "node.taints.map(t, t.key) > 5",
        "node.taints.exists_one(t, t)",
    ] {
        assert!(judge(source).is_err() || source.contains("% -1"), "{source}: {:?}", judge(source));
    }
}

#[test]
fn only_answers_of_an_instant_are_volatile() {
    for (source, volatile) in [
        ("conditions.Ready.status == 'Unknown'", false),
        ("node.labels.gpu == 'a' && node.ready", false),
        ("conditions.Ready.age > 5", true),
        ("conditions['Ready']['age'] > 5", true),
        ("lease.present", true),
        ("'Rebooted' in events", true),
        ("conditions.exists(c, conditions[c].age > 5)", true),
        ("conditions.exists(c, conditions[c]['a' + 'ge'] > 5)", true),
    ] {
        assert_eq!(Expression::compile(source).unwrap().is_volatile(), volatile, "{source}");
    }
}

#[test]
fn only_what_is_named_is_built() {
    let expression = Expression::compile("conditions.Ready.status == 'True' && node.ready").unwrap();
    let uses: Vec<_> =
        expression.uses.variables().map(|(name, keys)| (name, keys.includes("Ready"), keys.includes("x"))).collect();
    assert_eq!(uses, [("conditions", true, false), ("node", false, false)]);
}

#[test]
fn conditions_are_known_in_the_order_of_the_text() {
    let cases: [(&str, &[&str]); 5] = [
        ("conditions.B.status == 'True' || has(conditions.A) || 'B' in conditions", &["B", "A"]),
        ("conditions.?B.?status.orValue('') == 'True' && conditions[?'A'].hasValue()", &["B", "A"]),
        ("conditions.exists(c, conditions[c].age > 5) && conditions['A'].reason == 'x'", &["A"]),
        ("node.taints.exists(conditions, conditions.?key.orValue('') == 'k')", &[]),
        ("'A' in events", &[]),
    ];
    for (source, expected) in cases {
        let expression = Expression::compile(source).unwrap();
        assert_eq!(expression.conditions_in_order().collect::<Vec<_>>(), expected, "{source}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(source in "[ -~]{0,60}") {
        let _ = judge(&source);
    }

    #[test]
    fn no_broken_expression_makes_it_panic(cut in 0_usize..90, letter in "[ -~]") {
        let good = "has(conditions.Ready) && conditions.Ready.status != 'True' && node.age > duration('5m') || lease.present";
        let mut broken = good.to_owned();
        broken.replace_range(cut..=cut, &letter);
        let _ = judge(&broken);
    }
}

/// `cargo test --release -- --ignored --nocapture` prints it.
#[test]
#[ignore = "a measurement"]
#[allow(clippy::print_stdout)]
fn a_node_costs_microseconds() {
    let (mut node, snapshot) = facts();
    for number in 0..20 {
        node.labels.insert(format!("label-{number}"), "value".into());
        testing::set_condition(&mut node, &format!("Kind{number}"), ConditionStatus::False, "Fine", Moment::default());
    }
    for source in [
        "conditions.Ready.status != 'True' && lease.present && lease.age > 40 && node.labels.gpu == 'a100'",
        "has(conditions.GpuUnhealthy) && conditions.GpuUnhealthy.status == 'True'",
        "events.Rebooted.reporters == ['disk-monitor', 'kubelet'] && 'kubelet' in events.Rebooted.reporters",
        "conditions.exists(c, c != 'Ready' && conditions[c].status == 'True' && conditions[c].age > duration('10m'))",
    ] {
        let expression = Expression::compile(source).unwrap();
        let begun = Instant::now();
        for _ in 0..5000 {
            let _ = expression.judge(&node, &snapshot, testing::now(1000));
        }
        println!("{:?} a node: {source}", begun.elapsed() / 5000);
    }
}
