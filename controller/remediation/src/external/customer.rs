//! `NodeHealthCheck` as the holder of a node's Lease (`medik8s-leases/node-NODE`).
//!
//! node-healthcheck-operator takes that Lease before it makes a request, as `NodeHealthCheck-NAME`
//! (`internal/controller/nodehealthcheck_controller.go`, `internal/controller/resources/lease.go`), renews it while it
//! waits, and gives it up when the template's time is over. A Lease of another remediator means "wait"; this one means that
//! its holder waits for us, and to wait for it in turn would be for ever.
//!
//! So the Lease does not block the record of a request whose owner is its holder. The request's own word is not enough:
//! a client that may write requests could name any owner, and one `NodeHealthCheck` has several remediators. The
//! `NodeHealthCheck` itself is asked: it has the UID that the request names, counts the node as unhealthy, has made a
//! request of our kind for it, and no request of another kind that has not timed out.

use serde::Deserialize;
use serde_json::Value;

use super::request::{Owner, Request, Source};
use crate::{
    api::{self, request::KIND},
    snapshot::Customer,
};

const GROUP: &str = "remediation.medik8s.io";
const HEALTH_CHECK: &str = "NodeHealthCheck";

/// The `NodeHealthCheck` that made a request, by the request's own word.
#[must_use]
pub fn health_check(request: &Request) -> Option<&Owner> {
    let owners = (request.source == Source::Cluster).then_some(&request.owners)?;
    owners.iter().find(|owner| owner.is(GROUP, HEALTH_CHECK) && !owner.name.is_empty() && !owner.uid.is_empty())
}

/// As whom it holds the Leases of its nodes.
#[must_use]
pub fn holder(health_check: &Owner) -> String {
    format!("{HEALTH_CHECK}-{}", health_check.name)
}

/// The customer of `node` by this request, as the stored `NodeHealthCheck` has it.
///
/// # Errors
/// What it does not confirm.
pub fn proven(request: &Request, owner: &Owner, stored: &Value, node: &str) -> Result<Customer, String> {
    if stored["metadata"]["uid"].as_str() != Some(&owner.uid) {
        return Err(format!("NodeHealthCheck {} has another UID than the request's owner", owner.name));
    }
    let unhealthy = stored["status"]["unhealthyNodes"].as_array().into_iter().flatten();
    let Some(of_node) = unhealthy.into_iter().find(|one| one["name"] == node) else {
        return Err(format!("NodeHealthCheck {} does not have {node} among its unhealthy nodes", owner.name));
    };
    let remediations: Vec<&Value> = of_node["remediations"].as_array().into_iter().flatten().collect();
    if let Some(other) = remediations.iter().find(|one| !is_ours(one) && one["timedOut"].is_null()) {
        let kind = other["resource"]["kind"].as_str().unwrap_or("another kind");
        return Err(format!("NodeHealthCheck {} has a {kind} under way for {node}", owner.name));
    }
    // It lists the first of each kind alone, so that a second template of ours is not named there.
    match remediations.iter().any(|one| is_ours(one)) {
        true => Ok(Customer { request: request.uid.clone(), holder: holder(owner) }),
        false => Err(format!("NodeHealthCheck {} does not list this request for {node} yet", owner.name)),
    }
}

/// Of our group as well: another one may have a kind of this name.
fn is_ours(remediation: &Value) -> bool {
    Owner::deserialize(&remediation["resource"]).is_ok_and(|resource| resource.is(api::GROUP, KIND))
}
