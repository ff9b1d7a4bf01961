//! Which Node a request is of, asked of the API servers now: what does not answer is not known.

use std::collections::BTreeMap;

use nodewell_reconcile::{api_error::ApiError, cluster::Nodes};
use nodewell_remediation::{
    api::fence::Blocker,
    external::{
        machine,
        request::{Request, Source},
    },
    facts::Node,
};
use serde_json::Value;

use super::sources::{Management, Sources};
use crate::kube::KubeCluster;

/// What was found.
#[derive(Debug)]
pub(super) enum Found {
    Node(Box<Node>),
    /// Why it is not known.
    Unknown(Blocker),
    /// There is no Node of this name.
    Missing(String),
}

pub(super) async fn find(cluster: &KubeCluster, sources: &Sources, request: &Request) -> Result<Found, ApiError> {
    match (request.source, machine::owner(request), &sources.management) {
        (Source::Cluster, None, _) => by_name(cluster, request.node_name()).await,
        (Source::Management, Some(_), Some(management)) => by_machine(cluster, management, request).await,
        (Source::Cluster, Some(_), _) | (Source::Management, _, _) => Ok(Found::Unknown(machine::not_configured())),
    }
}

async fn by_name(cluster: &KubeCluster, name: &str) -> Result<Found, ApiError> {
    Ok(cluster.node(name).await?.map_or_else(|| Found::Missing(name.to_owned()), |node| Found::Node(Box::new(node))))
}

/// A Machine whose Node is not there may get one; its request waits.
async fn by_machine(cluster: &KubeCluster, management: &Management, request: &Request) -> Result<Found, ApiError> {
    let Some(owner) = machine::owner(request) else { return Ok(Found::Unknown(machine::not_configured())) };
    let Some(path) = machine::path(request, owner) else {
        return Ok(Found::Unknown(machine::unread(owner, Some("its owner reference names no Machine"))));
    };
    let stored = match management.wire.get::<Value>(&path).await {
        Ok(Some(stored)) => stored,
        Ok(None) => return Ok(Found::Unknown(machine::unread(owner, None))),
        Err(error) => return Ok(Found::Unknown(machine::unread(owner, Some(&error.to_string())))),
    };
    let mut nodes = BTreeMap::new();
    if let Some(name) = stored["status"]["nodeRef"]["name"].as_str().filter(|name| !name.is_empty())
        && let Some(node) = cluster.node(name).await?
    {
        nodes.insert(node.name.clone(), node);
    }
    let found = machine::node(request, &stored, &management.settings.cluster, &nodes);
    Ok(found.map_or_else(Found::Unknown, |node| Found::Node(Box::new(node.clone()))))
}
