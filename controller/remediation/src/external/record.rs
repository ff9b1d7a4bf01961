//! The record (`NodeFence`) that is opened for a request: one without a policy, as a person's is, so that the guards hold it
//! to their defaults.

use serde_json::json;

use super::request::Request;
use crate::{
    api::{
        ASKED_BY, Meta,
        fence::{Blocker, NodeFence, NodeFenceSpec, NodeFenceStatus},
        policy::StepSpec,
        request::{NodeFenceRemediationSpec, REQUESTED_BY},
    },
    facts::Node,
    policy::Policy,
};

/// What keeps a record for `node` from being opened: to turn off a node that is Ready ends what runs there.
#[must_use]
pub fn drain_missing(spec: &NodeFenceRemediationSpec, node: &Node) -> Option<Blocker> {
    (node.is_ready() && spec.drain.is_none()).then(|| Blocker::of("RequestWaits/ready", &[("node", &node.name)]))
}

/// # Errors
/// Why its spec makes no steps.
pub fn opened(request: &Request, spec: &NodeFenceRemediationSpec, node: &Node) -> Result<NodeFence, String> {
    let asked_by = request.shown();
    let annotations =
        [(REQUESTED_BY.to_owned(), request.id()), (ASKED_BY.to_owned(), asked_by.clone())].into_iter().collect();
    Ok(NodeFence {
        metadata: Meta { name: node.name.clone(), annotations, ..Meta::default() },
        spec: NodeFenceSpec {
            node_name: node.name.clone(),
            node_uid: node.uid.clone(),
            policy: String::new(),
            cause: format!("asked for by {asked_by}"),
            steps: steps(spec, node)?,
            abort: false,
        },
        status: NodeFenceStatus::default(),
    })
}

/// As a policy's steps are checked and filled in. A node that is not Ready is not drained: its pods would wait for a kubelet
/// that does not answer, for as long as the drain may take.
fn steps(spec: &NodeFenceRemediationSpec, node: &Node) -> Result<Vec<StepSpec>, String> {
    let cycle = json!({ "powerCycle": { "leaveOff": spec.leave_off } });
    let steps = match spec.drain.as_ref().filter(|_| node.is_ready()) {
        Some(timeout) => json!([{ "cordon": {} }, { "drain": { "timeout": timeout } }, cycle]),
        None => json!([{ "taint": {} }, { "cordon": {} }, cycle]),
    };
    let policy = json!({ "metadata": { "name": "request" }, "spec": { "when": "true", "steps": steps } });
    let policy = Policy::of_json(&policy).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(|error| error.problem.clone()).collect();
        format!("spec.drain: {}", errors.join("; "))
    })?;
    Ok(policy.steps)
}
