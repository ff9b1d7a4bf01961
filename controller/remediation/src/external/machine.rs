//! From a Machine of Cluster API to a Node of this cluster. It is never guessed: what is missing blocks.
//!
//! `status.nodeRef` has been a Node's name alone since v1beta2 of `kubernetes-sigs/cluster-api`
//! (`api/core/v1beta2/machine_types.go`; v1beta1 may have its UID beside it), and one management cluster has Machines of
//! many clusters whose Nodes may be named alike. So the Machine has to be of the configured cluster, and its own machine has
//! to be proven to be the Node's: by `spec.providerID`, which Cluster API itself finds the Node by, or by the UID.

use std::collections::BTreeMap;

use serde_json::Value;

use super::request::{Owner, Request};
use crate::{api::fence::Blocker, facts::Node, message::MessageArgs};

const GROUP: &str = "cluster.x-k8s.io";
const MACHINE: &str = "Machine";

/// The Machine that a request is of.
#[must_use]
pub fn owner(request: &Request) -> Option<&Owner> {
    request.owners.iter().find(|owner| owner.is(GROUP, MACHINE))
}

/// Where it is stored, in the version that Cluster API itself wrote.
#[must_use]
pub fn path(request: &Request, owner: &Owner) -> Option<String> {
    let version = owner.api_version.split_once('/').map(|(_, version)| version)?;
    let is_word = |text: &str| text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-.".contains(letter));
    let parts = [version, &request.namespace, &owner.name];
    let is_whole = parts.iter().all(|part| !part.is_empty() && is_word(part));
    is_whole.then(|| format!("/apis/{GROUP}/{version}/namespaces/{}/machines/{}", request.namespace, owner.name))
}

/// Whether the label that Cluster API sets names another cluster than ours: its own controller serves it.
#[must_use]
pub fn is_of_another_cluster(request: &Request, cluster: &str) -> bool {
    request.cluster.as_deref().is_some_and(|of| of != cluster)
}

/// The request is of a Machine, and no management cluster is configured here.
#[must_use]
pub fn not_configured() -> Blocker {
    Blocker::plain("MachineRequest")
}

/// The Machine of `owner` cannot be read: why; nothing, where it is gone.
#[must_use]
pub fn unread(owner: &Owner, error: Option<&str>) -> Blocker {
    let machine = &owner.name;
    match error {
        Some(error) => Blocker::of("MachineUnknown/unread", &[("machine", machine), ("error", &error)]),
        None => Blocker::of("MachineUnknown/gone", &[("machine", machine)]),
    }
}

/// The Node of the Machine that owns `request`, in the cluster that Cluster API knows as `cluster`.
///
/// # Errors
/// What keeps it from being known.
pub fn node<'a>(
    request: &Request,
    machine: &Value,
    cluster: &str,
    nodes: &'a BTreeMap<String, Node>,
) -> Result<&'a Node, Blocker> {
    let name = request.name.as_str();
    let owner = owner(request).ok_or_else(|| Blocker::of("MachineUnknown/owner", &[("request", &name)]))?;
    let machine_is = |pointer: &str, wanted: &str| machine.pointer(pointer).and_then(Value::as_str) == Some(wanted);
    if owner.name != request.name || !machine_is("/metadata/uid", &owner.uid) || owner.uid.is_empty() {
        return Err(Blocker::of("MachineUnknown/another", &[("machine", &owner.name), ("request", &name)]));
    }
    if !machine_is("/spec/clusterName", cluster) {
        let of = machine["spec"]["clusterName"].as_str().unwrap_or("none");
        return Err(Blocker::of("MachineUnknown/cluster", &[("machine", &name), ("of", &of), ("cluster", &cluster)]));
    }
    let Some(node_name) = machine["status"]["nodeRef"]["name"].as_str().filter(|name| !name.is_empty()) else {
        return Err(Blocker::of("MachineUnknown/noNode", &[("machine", &name)]));
    };
    let args: MessageArgs<'_> = &[("machine", &name), ("node", &node_name)];
    let node = nodes.get(node_name).ok_or_else(|| Blocker::of("MachineUnknown/absent", args))?;
    is_its_own(machine, node).map(|()| node).map_err(|key| Blocker::of(key, args))
}

/// One proof at least, and nothing that speaks against it.
fn is_its_own(machine: &Value, node: &Node) -> Result<(), &'static str> {
    let text = |pointer: &str| machine.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    let (uid, provider) = (text("/status/nodeRef/uid"), text("/spec/providerID"));
    if uid.is_some_and(|uid| uid != node.uid) {
        return Err("MachineUnknown/uid");
    }
    match provider {
        Some(provider) if provider == node.provider_id => Ok(()),
        Some(_) if !node.provider_id.is_empty() => Err("MachineUnknown/provider"),
        Some(_) | None if uid.is_some() => Ok(()),
        Some(_) | None => Err("MachineUnknown/unproven"),
    }
}
