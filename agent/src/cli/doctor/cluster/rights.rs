//! Asking the API server "may I?" (SelfSubjectAccessReview), one right at a time.

use serde_json::{Value, json};

use crate::identity::{AskError, Server};

/// Something the agent does on the API server.
pub(super) struct Right {
    pub(super) name: &'static str,
    attributes: Value,
    advice: &'static str,
    /// The agent does its work without it.
    pub(super) is_optional: bool,
}

impl Right {
    /// Conditions of a Node.
    pub(super) fn own_status(node: &str) -> Self {
        Self {
            name: "patch nodes/status",
            attributes: json!({"verb": "patch", "resource": "nodes", "subresource": "status", "name": node}),
            advice: "let the identity patch nodes/status of its own Node: the role in /usr/share/nodewell/kubernetes, or the kubelet's identity",
            is_optional: false,
        }
    }

    /// Events about the Node, which live in the namespace `default`.
    pub(super) fn event(verb: &'static str) -> Self {
        Self {
            name: if verb == "create" { "create events" } else { "patch events" },
            attributes: json!({"verb": verb, "resource": "events", "namespace": "default"}),
            advice: "let the identity create and patch events in the namespace default: the role in /usr/share/nodewell/kubernetes",
            is_optional: false,
        }
    }

    /// A Lease of the agent's own, which kubelets may not have.
    pub(super) fn own_lease(node: &str) -> Self {
        let group = "coordination.k8s.io";
        Self {
            name: "own Lease",
            attributes: json!({"verb": "patch", "group": group, "resource": "leases", "namespace": "nodewell", "name": node}),
            advice: "an agent that died is seen by lastHeartbeatTime only; an identity of its own may have one",
            is_optional: true,
        }
    }

    pub(super) fn advice(&self) -> &'static str {
        self.advice
    }

    pub(super) async fn allowed(&self, server: &Server) -> Result<bool, AskError> {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": self.attributes},
        });
        let answer = server.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review).await?;
        Ok(answer["status"]["allowed"].as_bool().unwrap_or(false))
    }
}
