//! Asking the API server "may I?" (SelfSubjectAccessReview), one right at a time.

use hyper::Request;
use kube::Client;
use serde_json::{Value, json};

use super::{Trouble, ask};

/// Something the agent does on the API server.
pub(super) struct Right {
    pub(super) name: &'static str,
    attributes: Value,
    remedy: &'static str,
}

impl Right {
    /// Conditions of a Node.
    pub(super) fn own_status(node: &str) -> Self {
        Self {
            name: "patch nodes/status",
            attributes: json!({"verb": "patch", "resource": "nodes", "subresource": "status", "name": node}),
            remedy: "let the identity patch nodes/status of its own Node: the role in packaging/rbac, or the kubelet's identity",
        }
    }

    /// Events about the Node, which live in the namespace `default`.
    pub(super) fn event(verb: &'static str) -> Self {
        Self {
            name: if verb == "create" { "create events" } else { "patch events" },
            attributes: json!({"verb": verb, "resource": "events", "namespace": "default"}),
            remedy: "let the identity create and patch events in the namespace default: the role in packaging/rbac",
        }
    }

    pub(super) fn remedy(&self) -> &'static str {
        self.remedy
    }

    pub(super) async fn allowed(&self, client: &Client) -> Result<bool, Trouble> {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": self.attributes},
        });
        let request = Request::post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
            .header("Content-Type", "application/json");
        let answer = ask(client, request, review).await?;
        Ok(answer["status"]["allowed"].as_bool().unwrap_or(false))
    }
}
