//! What each controller's host reports of nodes that it cannot reach: an annotation of a Lease of its own.

use std::collections::BTreeMap;

use k8s_openapi::api::coordination::v1::Lease;
use nodewell_reconcile::{api_error::ApiError, cluster::ReachReport};
use serde_json::{Value, json};

use super::wire::{Wire, escaped};

/// The Lease of a host is named so, and its report is in the annotation of the same name.
const PREFIX: &str = "nodewell-controller-reach-";
const SEQUENCE: &str = "nodewell.dev/reach-sequence";
const NODES: &str = "nodewell.dev/reach";
const LABEL: &str = "nodewell.dev/reach";

fn collection(namespace: &str) -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", escaped(namespace))
}

pub(super) async fn reports(wire: &Wire, namespace: &str) -> Result<Vec<ReachReport>, ApiError> {
    let query = format!("&labelSelector={}", escaped(LABEL));
    let leases: Vec<Lease> = wire.list(&collection(namespace), &query).await?;
    Ok(leases.into_iter().filter_map(report).collect())
}

/// What cannot be read is no report.
fn report(lease: Lease) -> Option<ReachReport> {
    let host = lease.metadata.name?.strip_prefix(PREFIX)?.to_owned();
    let annotations = lease.metadata.annotations?;
    let nodes: BTreeMap<String, Option<u64>> = serde_json::from_str(annotations.get(NODES)?).ok()?;
    Some(ReachReport { host, sequence: annotations.get(SEQUENCE)?.parse().ok()?, nodes })
}

pub(super) async fn write(wire: &Wire, namespace: &str, report: &ReachReport) -> Result<(), ApiError> {
    let body = body(report);
    let path = format!("{}/{}", collection(namespace), escaped(&format!("{PREFIX}{}", report.host)));
    match wire.merge::<Value>(&path, &body).await {
        Err(ApiError::NotFound) => wire.create::<Value>(&collection(namespace), &body).await.map(drop),
        outcome => outcome.map(drop),
    }
}

fn body(report: &ReachReport) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {
            "name": format!("{PREFIX}{}", report.host),
            "labels": { LABEL: "" },
            "annotations": { SEQUENCE: report.sequence.to_string(), NODES: json!(report.nodes).to_string() },
        },
        "spec": { "holderIdentity": report.host },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_is_read() {
        let said = ReachReport {
            host: "cp-1".into(),
            sequence: 7,
            nodes: [("a".to_owned(), Some(12)), ("b".to_owned(), None)].into(),
        };
        assert_eq!(report(serde_json::from_value(body(&said)).unwrap()), Some(said));
    }

    #[test]
    fn a_lease_of_something_else_is_no_report() {
        assert_eq!(report(serde_json::from_value(json!({ "metadata": { "name": "n1" } })).unwrap()), None);
    }
}
