//! A record as the API server has it.

use serde_json::{Value, json};

use super::*;

fn read_back(status: &Value) -> NodeFenceStatus {
    let record = json!({ "metadata": { "name": "n" }, "spec": { "nodeName": "n", "nodeUID": "u" }, "status": status });
    serde_json::from_value::<NodeFence>(record).unwrap().status
}

/// The way back from an upgrade: an older controller leads for a while, and saves the record at each step.
#[test]
fn fields_of_a_newer_controller_are_stored_again() {
    let status = json!({
        "phase": "Draining", "epoch": 3, "fencingLevel": 2, "bootID": "b",
        "proof": { "by": ["later"], "at": "2026-01-01T00:00:00Z" }, "laterCount": 7,
    });
    let mut read = read_back(&status);
    assert_eq!((read.phase, read.epoch, read.boot_id.as_str()), (Phase::Draining, 3, "b"));
    read.phase = Phase::Waiting;
    let saved = serde_json::to_value(&read).unwrap();
    for field in ["proof", "laterCount", "fencingLevel", "bootID"] {
        assert_eq!(saved[field], status[field], "{field}");
    }
    assert_eq!(saved["phase"], "Waiting");
}

#[test]
fn a_record_of_this_version_has_no_field_that_is_not_known() {
    let saved = serde_json::to_value(NodeFenceStatus::default()).unwrap();
    let read = read_back(&saved);
    assert_eq!((read.unknown.len(), read), (0, NodeFenceStatus::default()));
}

/// What a record is to do is another matter: a step that is not known must not be left out.
#[test]
fn a_spec_with_a_field_that_is_not_known_cannot_be_read() {
    let spec = json!({ "nodeName": "n", "nodeUID": "u", "later": true });
    let refused = serde_json::from_value::<NodeFenceSpec>(spec).unwrap_err().to_string();
    assert!(refused.contains("unknown field `later`"), "{refused}");
    let known: Value = json!({ "nodeName": "n", "nodeUID": "u" });
    assert!(serde_json::from_value::<NodeFenceSpec>(known).is_ok());
}
