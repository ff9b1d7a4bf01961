//! Leases by which remediators show each other which node they remediate: `node-NAME` in a namespace of their own,
//! as medik8s' operators do (NodeHealthCheck, NodeMaintenance). The holder of the Lease acts, every other remediator
//! waits for its end.

use std::{collections::BTreeMap, time::Duration};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::{
    coordination::v1::{Lease, LeaseSpec},
    core::v1::Namespace,
};
use nodewell_reconcile::api_error::ApiError;
use nodewell_remediation::snapshot::PeerLeases;
use serde_json::{Value, json};

use super::{
    FIELD_MANAGER,
    wire::{Wire, escaped},
};

/// Before the node's name.
const PREFIX: &str = "node-";
/// Ours lasts for so long, and is renewed while it is needed.
pub const DURATION: Duration = Duration::from_secs(300);
/// Ends are by the holder's clock. Hosts whose clocks differ by more have no working TLS either.
const SKEW: SignedDuration = SignedDuration::from_mins(5);

/// What a Lease shows of its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It has no holder, or none any more.
    Free,
    /// This controller's, on whichever host it leads; when it was last renewed.
    Ours(Option<Timestamp>),
    /// Another one's, and of whom.
    Held(String),
}

/// All Leases of nodes, as they are now.
#[derive(Debug, Clone, Default)]
pub struct NodeLeases(BTreeMap<String, Lease>);

/// What became of reading them.
#[derive(Debug)]
pub enum Read {
    Listed(NodeLeases),
    /// There is no such namespace, and so no remediator that claims anything.
    NoNamespace,
    /// It is not even known whether there is one; why.
    Unknown(ApiError),
    /// The namespace is there, what is in it cannot be read; why.
    Closed(ApiError),
}

impl NodeLeases {
    /// Nodes with a Lease, and what it shows `now`.
    pub fn standings(&self, now: Timestamp) -> impl Iterator<Item = (&str, Standing)> {
        self.0.iter().map(move |(node, lease)| (node.as_str(), standing(lease, now)))
    }

    /// What decisions need of it.
    #[must_use]
    pub fn claims(&self, namespace: &str, now: Timestamp) -> PeerLeases {
        let held = self.standings(now).filter_map(|(node, standing)| match standing {
            Standing::Held(who) => Some((node.to_owned(), who)),
            Standing::Free | Standing::Ours(_) => None,
        });
        let holders: BTreeMap<String, String> = held.collect();
        let held = holders.iter().map(|(node, who)| (node.clone(), sentence(namespace, node, who))).collect();
        PeerLeases { held, holders, unreadable: None, are_kept: true }
    }
}

fn sentence(namespace: &str, node: &str, who: &str) -> String {
    format!("Lease {namespace}/{PREFIX}{node} is held by {who}; it acts, or let it release the Lease")
}

/// One without an end does not end.
#[must_use]
pub fn standing(lease: &Lease, now: Timestamp) -> Standing {
    let Some(LeaseSpec { holder_identity: Some(holder), renew_time, lease_duration_seconds, .. }) = &lease.spec else {
        return Standing::Free;
    };
    if holder.is_empty() {
        return Standing::Free;
    }
    let renewed = renew_time.as_ref().map(|time| time.0);
    if holder == FIELD_MANAGER {
        return Standing::Ours(renewed);
    }
    let lasts = lease_duration_seconds.map(|seconds| SignedDuration::from_secs(seconds.into()));
    let is_over = |(renewed, lasts)| now.duration_since(renewed) > SKEW.saturating_add(lasts);
    if renewed.zip(lasts).is_some_and(is_over) { Standing::Free } else { Standing::Held(holder.clone()) }
}

fn collection(namespace: &str) -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", escaped(namespace))
}

fn path(namespace: &str, node: &str) -> String {
    format!("{}/{}", collection(namespace), escaped(&format!("{PREFIX}{node}")))
}

/// Reads all of them. Most clusters have no such namespace: whether it is there is asked first, for to list what is in
/// one that is not is refused to a client that has no rights there.
pub async fn read(wire: &Wire, namespace: &str) -> Read {
    let there = wire.get::<Namespace>(&format!("/api/v1/namespaces/{}", escaped(namespace))).await;
    match there {
        Ok(None) => Read::NoNamespace,
        Ok(Some(_)) => listed(wire, namespace, Read::Closed).await,
        // What can be listed can be read, whether or not the namespace may be.
        Err(ApiError::Refused { code: 403, .. }) => listed(wire, namespace, Read::Unknown).await,
        Err(error) => Read::Unknown(error),
    }
}

async fn listed(wire: &Wire, namespace: &str, refused: impl FnOnce(ApiError) -> Read) -> Read {
    match wire.list::<Lease>(&collection(namespace), "").await {
        Ok(leases) => Read::Listed(node_leases(leases)),
        Err(error @ ApiError::Refused { code: 403, .. }) => refused(error),
        Err(error) => Read::Unknown(error),
    }
}

fn node_leases(leases: Vec<Lease>) -> NodeLeases {
    let named = leases.into_iter().filter_map(|lease| {
        let node = lease.metadata.name.as_deref()?.strip_prefix(PREFIX)?.to_owned();
        Some((node, lease))
    });
    NodeLeases(named.collect())
}

/// Takes a node's Lease, or renews ours. The first writer wins; in a namespace that is not there no other remediator
/// needs it.
pub async fn claim(wire: &Wire, namespace: &str, node: &str, uid: &str, now: Timestamp) -> Result<(), ApiError> {
    let at = path(namespace, node);
    let Some(known) = wire.get::<Lease>(&at).await? else {
        let body = body(namespace, node, uid, &Lease::default(), now);
        return match wire.create::<Value>(&collection(namespace), &body).await {
            Ok(_) | Err(ApiError::NotFound) => Ok(()),
            Err(error) => Err(error),
        };
    };
    if let Standing::Held(who) = standing(&known, now) {
        return Err(ApiError::Conflict(sentence(namespace, node, &who)));
    }
    wire.replace::<Value>(&at, &body(namespace, node, uid, &known, now)).await.map(drop)
}

/// Releases a Lease of ours, as medik8s does: by deleting it.
pub async fn release(wire: &Wire, namespace: &str, leases: &NodeLeases, node: &str) -> Result<(), ApiError> {
    let Some(lease) = leases.0.get(node) else { return Ok(()) };
    let meta = &lease.metadata;
    let preconditions = json!({ "uid": meta.uid, "resourceVersion": meta.resource_version });
    match wire.delete(&path(namespace, node), &preconditions, None).await {
        Err(ApiError::NotFound) => Ok(()),
        outcome => outcome,
    }
}

fn body(namespace: &str, node: &str, uid: &str, known: &Lease, now: Timestamp) -> Value {
    let spec = known.spec.clone().unwrap_or_default();
    let was_ours = spec.holder_identity.as_deref() == Some(FIELD_MANAGER);
    let time = |time: Timestamp| format!("{time:.6}");
    let acquired = spec.acquire_time.map(|time| time.0).filter(|_| was_ours).unwrap_or(now);
    let mut body = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {
            "name": format!("{PREFIX}{node}"), "namespace": namespace,
            "ownerReferences": [{ "apiVersion": "v1", "kind": "Node", "name": node, "uid": uid }],
        },
        "spec": {
            "holderIdentity": FIELD_MANAGER,
            "leaseDurationSeconds": DURATION.as_secs(),
            "acquireTime": time(acquired),
            "renewTime": time(now),
            "leaseTransitions": spec.lease_transitions.unwrap_or_default() + i32::from(!was_ours && known.spec.is_some()),
        },
    });
    if let Some(version) = &known.metadata.resource_version {
        body["metadata"]["resourceVersion"] = json!(version);
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(holder: &str, age_secs: i64, lasts: Value) -> Lease {
        let renewed = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(100_000 - age_secs);
        let spec =
            json!({ "holderIdentity": holder, "renewTime": format!("{renewed:.6}"), "leaseDurationSeconds": lasts });
        serde_json::from_value(json!({ "metadata": { "name": "node-n1", "resourceVersion": "7" }, "spec": spec }))
            .unwrap()
    }

    fn now() -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_secs(100_000)
    }

    #[test]
    fn a_node_is_its_holders_until_the_lease_is_over_on_any_clock() {
        let held = || Standing::Held("nhc".into());
        for (holder, age, lasts, expected) in [
            ("nhc", 0, json!(60), held()),
            ("nhc", 60 + 300, json!(60), held()),
            ("nhc", 60 + 301, json!(60), Standing::Free),
            // Its clock is ahead of ours.
            ("nhc", -5000, json!(60), held()),
            ("nhc", 90_000, Value::Null, held()),
            ("", 0, json!(60), Standing::Free),
        ] {
            assert_eq!(standing(&lease(holder, age, lasts.clone()), now()), expected, "{holder} {age} {lasts}");
        }
        assert!(matches!(standing(&lease(FIELD_MANAGER, 90_000, json!(60)), now()), Standing::Ours(Some(_))));
        assert_eq!(standing(&Lease::default(), now()), Standing::Free);
    }

    #[test]
    fn only_leases_of_nodes_are_read_and_only_those_of_others_block() {
        let mut other = lease("nhc", 0, json!(60));
        other.metadata.name = Some("lock-n1".into());
        let mut ours = lease(FIELD_MANAGER, 0, json!(60));
        ours.metadata.name = Some("node-n2".into());
        let claims = node_leases(vec![other, lease("nhc", 0, json!(60)), ours]).claims("medik8s-leases", now());
        assert_eq!(claims.held.keys().collect::<Vec<_>>(), ["n1"]);
        assert!(claims.held["n1"].starts_with("Lease medik8s-leases/node-n1 is held by nhc"), "{:?}", claims.held);
        assert_eq!(claims.holders, [("n1".to_owned(), "nhc".to_owned())].into());
    }

    #[test]
    fn a_lease_taken_over_counts_on_and_one_renewed_stays_acquired() {
        let taken = body("x", "n1", "u1", &lease("nhc", 1000, json!(60)), now());
        assert_eq!(
            (&taken["spec"]["leaseTransitions"], &taken["metadata"]["resourceVersion"]),
            (&json!(1), &json!("7"))
        );
        let again: Lease = serde_json::from_value(taken.clone()).unwrap();
        let later = now() + SignedDuration::from_secs(100);
        let renewed = body("x", "n1", "u1", &again, later);
        assert_eq!(renewed["spec"]["leaseTransitions"], json!(1));
        assert_eq!(renewed["spec"]["acquireTime"], taken["spec"]["acquireTime"]);
        assert_ne!(renewed["spec"]["renewTime"], taken["spec"]["renewTime"]);
    }
}
