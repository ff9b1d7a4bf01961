//! node-reaper's predicates, as people have had them for years.

use std::{cell::RefCell, time::Duration};

use jiff::Timestamp;
use nodewell_remediation::{
    facts::{Condition, ConditionStatus, Effect, LeaseView, Node, Taint, ZONE},
    snapshot::Snapshot,
    time::{Moment, Now},
};

use crate::govaluate::{Expression, LONGEST_TEXT, Value};

/// Sixteen texts of a variable that are joined to each other are longer than any value may be.
const VALUE_LIMIT_BYTES: usize = 1 << 20;
const LONG_TEXT_BYTES: usize = 128 << 10;

/// An expression is refused with a message, or evaluated: it asks for the variables that it names and no other, all of
/// them where it has a value, and no value grows without a bound.
pub fn govaluate(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let expression = match Expression::parse(text) {
        Ok(expression) => expression,
        Err(why) => return assert!(!why.is_empty()),
    };
    assert!(text.len() <= LONGEST_TEXT, "{} bytes", text.len());
    let (named, asked): (Vec<&str>, _) = (expression.variables().collect(), RefCell::new(Vec::new()));
    let value = expression.evaluate(|name| {
        asked.borrow_mut().push(name.to_owned());
        value_of(name)
    });
    let asked = asked.into_inner();
    assert!(named.iter().zip(&asked).all(|(named, asked)| named == asked) && asked.len() <= named.len());
    assert!(value.is_err() || asked.len() == named.len(), "both sides of every operator are evaluated");
    if let Ok(value) = &value {
        assert!(size(value) <= VALUE_LIMIT_BYTES, "{} bytes", size(value));
    }
    let (node, known, now) = (node(), snapshot(), now(1000));
    let answer = expression.judge(&node, &known, now);
    assert_eq!(answer, expression.judge(&node, &known, now), "the same question");
}

/// Wall time at moment 0; the Node is a day older.
const EPOCH: Timestamp = Timestamp::constant(1_800_000_000, 0);

fn now(secs: u64) -> Now {
    let since = Duration::from_secs(secs);
    Now { moment: Moment(since), wall: EPOCH + since }
}

/// One that has something of everything.
fn node() -> Node {
    let text = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    let condition = |(kind, status)| Condition { kind: String::from(kind), status, ..Condition::default() };
    let conditions = [("Ready", ConditionStatus::False), ("ReadonlyFilesystem", ConditionStatus::Unknown)];
    Node {
        name: "n1".into(),
        uid: "u1".into(),
        created: EPOCH - Duration::from_hours(24),
        labels: [("gpu", "a100"), (ZONE, "z1")].map(text).into(),
        annotations: [("note", "2026-01-02T03:04:05Z")].map(text).into(),
        taints: vec![Taint { key: "k".into(), value: "v".into(), effect: Effect::NoSchedule }],
        conditions: conditions.map(condition).into(),
        ..Node::default()
    }
}

/// What the cluster knows of it.
fn snapshot() -> Snapshot {
    let lease = LeaseView {
        resource_version: String::new(),
        holder: "n1".into(),
        renewed: None,
        duration: Duration::from_secs(40),
        change_seen_at: now(945).moment,
    };
    Snapshot { kubelet_leases: [("n1".to_owned(), lease)].into(), ..Snapshot::default() }
}

/// By the length of its name: of every kind.
fn value_of(name: &str) -> Value {
    match name.len() % 6 {
        0 => Value::Nil,
        1 => Value::Bool(true),
        2 => Value::Number(7.0),
        3 => Value::Text("a".repeat(LONG_TEXT_BYTES)),
        4 => Value::List(vec![Value::Number(1.0), Value::Text("x".to_owned())]),
        _ => Value::Text(name.to_owned()),
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::List(values) => values.iter().map(size).max().unwrap_or_default(),
        Value::Nil | Value::Bool(_) | Value::Number(_) => 0,
    }
}
