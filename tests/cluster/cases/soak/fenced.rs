//! The order of a fence, by its record and its BMC's log.

use jiff::Timestamp;
use nodewell_cluster::{off_before_release::check, worker::Order};
use nodewell_tests::suite::Suite;
use serde_json::{Value, json};

pub(super) fn list(suite: &mut Suite) {
    suite.case("a_fence_without_proof_is_named", a_fence_without_proof_is_named);
}

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// Its log enters these phases, one a second from 100 on.
fn record(phases: &[&str]) -> Value {
    let entries = phases.iter().zip(100..).map(|(phase, at)| {
        json!({ "at": second(at).to_string(), "text": format!("{phase}: for a reason, and PodsReleased is in it") })
    });
    json!({ "status": { "log": entries.collect::<Vec<_>>() } })
}

/// When, and what.
type Ordered = &'static [(i64, &'static str)];

fn orders(orders: Ordered) -> Vec<Order> {
    orders.iter().map(|(at, text)| Order { at: second(*at), text: (*text).to_owned() }).collect()
}

fn a_fence_without_proof_is_named() {
    let whole: &[&str] = &["AwaitGuards", "OffConfirmed", "PodsReleased", "PoweringOn"];
    let read: Ordered = &[(99, "get power"), (100, "get power"), (103, "set power 1")];
    // It was off since 98, and released at 102.
    let cases: [(&str, &[&str], Ordered); 8] = [
        ("", whole, read),
        ("never confirmed", &["AwaitGuards", "PodsReleased"], read),
        ("no release", &["AwaitGuards", "OffConfirmed", "PoweringOn"], read),
        ("before Off was confirmed", &["PodsReleased", "OffConfirmed"], read),
        ("read 1 times", whole, &[(100, "get power"), (103, "set power 1")]),
        ("read 0 times", whole, &[(97, "get power"), (102, "get power"), (103, "set power 1")]),
        ("turned on before", whole, &[(99, "get power"), (100, "get power"), (101, "set power 1")]),
        ("not turned on", whole, &[(97, "set power 1"), (99, "get power"), (100, "get power")]),
    ];
    for (expected, phases, ordered) in cases {
        match check(&record(phases), &orders(ordered), second(98)) {
            Ok(_) => assert_eq!(expected, ""),
            Err(why) => assert!(!expected.is_empty() && why.contains(expected), "{expected:?}: {why}"),
        }
    }
    assert!(check(&json!({}), &[], second(98)).is_err());
}
