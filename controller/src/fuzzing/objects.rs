//! Answers of the API server to the controller, or of what stands in its place: Nodes, pods and what binds them,
//! Leases, Events, and errors. Much of it was written by kubelets.

use jiff::Timestamp;
use nodewell_reconcile::api_error::ApiError;
use nodewell_remediation::time::Moment;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::kube::{convert, error_of};

/// A message of an error is a line of a journal or of a record, not a page.
const MESSAGE_LIMIT_CHARS: usize = 640;

/// The first byte chooses the kind. A Node is Ready only if it says so, nothing without a UID is acted upon, what is
/// written of a Lease is what was read, and an error is short, and none of the server's a refusal.
pub fn objects(input: &[u8]) {
    let Some((kind, json)) = input.split_first() else { return };
    match kind % 8 {
        0 => node(json),
        1 => pod(json),
        2 => lease(json),
        3 => event(json),
        4 => drop(read(json).map(convert::attachment)),
        5 => budget(json),
        _ => error(*kind, json),
    }
}

fn read<T: DeserializeOwned>(json: &[u8]) -> Option<T> {
    serde_json::from_slice(json).ok()
}

fn node(json: &[u8]) {
    let Some(raw) = read::<k8s_openapi::api::core::v1::Node>(json) else { return };
    let says_ready = raw.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let says_ready = says_ready.filter(|condition| condition.type_ == "Ready").any(|ready| ready.status == "True");
    let Ok(node) = convert::node(raw, Moment::default()) else { return };
    assert!(!node.name.is_empty() && !node.uid.is_empty() && node.kubelet_port != Some(0));
    assert!(says_ready || !node.is_ready());
}

fn pod(json: &[u8]) {
    let Some(raw) = read::<k8s_openapi::api::core::v1::Pod>(json) else { return };
    let (claims, metadata) = (convert::claims_of(&raw), raw.metadata.clone());
    let Some(pod) = convert::pod(raw, &convert::Claims::new()) else { return };
    assert_eq!(Some(&pod.at.uid), metadata.uid.as_ref());
    assert_eq!(pod.deleting.is_some(), metadata.deletion_timestamp.is_some());
    assert!(claims.len() <= pod.volumes.len());
}

fn lease(json: &[u8]) {
    let Some(raw) = read::<k8s_openapi::api::coordination::v1::Lease>(json) else { return };
    let view = convert::lease_view(raw.clone(), Moment::default());
    let lease = convert::leadership(raw);
    assert_eq!((view.renewed, &view.holder), (lease.renewed, &lease.holder));
    // The API has microseconds, and no Lease of 0 s.
    let written = convert::leadership_body(&lease, "nodewell", "nodewell-controller");
    let again = convert::leadership(serde_json::from_value(written).expect("a Lease is one"));
    assert_eq!((&again.holder, again.transitions), (&lease.holder, lease.transitions));
    assert_eq!(again.duration.as_secs(), lease.duration.as_secs().max(1));
}

fn event(json: &[u8]) {
    let Some(event) = read(json).and_then(|raw| convert::event(raw, Timestamp::UNIX_EPOCH)) else { return };
    assert!(event.count > 0);
}

/// The first line is the pod, the second one the budget.
fn budget(json: &[u8]) {
    let mut lines = json.split(|byte| *byte == b'\n');
    let pod = lines.next().and_then(read).and_then(|raw| convert::pod(raw, &convert::Claims::new()));
    if let (Some(pod), Some(raw)) = (pod, lines.next().and_then(read)) {
        let budget = convert::budget(raw, &pod);
        assert!(budget.is_none_or(|budget| budget.pods == [pod.at.name]));
    }
}

fn error(kind: u8, body: &[u8]) {
    let codes = [400, 401, 403, 404, 409, 410, 422, 429, 500, 502, 503, 504, 302];
    let code = codes[usize::from(kind / 8) % codes.len()];
    let error = error_of(code, body);
    let text = error.to_string();
    assert!(!text.is_empty() && text.chars().count() <= MESSAGE_LIMIT_CHARS, "{} characters", text.chars().count());
    assert!(!text.contains(nodewell_printable::is_hidden), "{text:?}");
    let is_of_two_budgets = text.contains("more than one PodDisruptionBudget");
    let is_status = read::<Value>(body).is_some_and(|status| status["kind"] == "Status");
    match error {
        ApiError::NotFound => assert!([404, 409].contains(&code) && is_status),
        ApiError::Conflict(_) => assert!(code == 409 && is_status),
        ApiError::EvictionRefused { .. } => {
            assert!(code == 429 && read::<Value>(body).is_some_and(|status| status["details"]["causes"].is_array()));
        }
        ApiError::Refused { .. } => {
            assert!(code == 429 || code < 500 && is_status || is_of_two_budgets, "{code} is taken for a refusal");
        }
        ApiError::NoAnswer(_) => assert!(!(400..500).contains(&code) || !is_status),
    }
}
