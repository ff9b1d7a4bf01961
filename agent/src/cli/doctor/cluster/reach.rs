//! Whether anything but the own Node is within reach. RBAC cannot express "own Node only". Admission can
//! (NodeRestriction, or the policies we ship), and only a real write, as a dry run, shows whether it does.

use hyper::{Request, http::request::Builder};
use serde_json::{Value, json};

use super::{AskError, Check, Cluster, NODE_USER_PREFIX, Right, Server, USER_PREFIX, User, Version};

/// A node that does not exist, to ask what the identity may do to others.
pub(super) const OTHER_NODE: &str = "nodewell-doctor-other-node";
/// Kubelets have NodeRestriction; all other identities have what we ship.
const APPLY_POLICIES: &str =
    "kubectl apply -f /usr/share/nodewell/kubernetes/nodewell-admission.yaml, or use the kubelet's identity";

/// What the proofs need to know.
pub(super) struct Reach<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) server: &'a Server,
    pub(super) user: &'a User,
    pub(super) version: Version,
}

/// How a dry run ended.
enum Tried {
    Rejected(String),
    Taken,
    Unknown(AskError),
}

impl Reach<'_> {
    pub(super) async fn examine(&self) -> Vec<Check> {
        let mut checks = vec![self.other_nodes().await];
        // A kubelet may name other Nodes in Events; NodeRestriction does not check them.
        if !self.is_kubelet() {
            checks.extend(self.policies_exist());
            checks.push(self.other("other Nodes' Events", self.foreign_event().await));
            checks.push(self.other("other Nodes' Leases", self.foreign_lease().await));
            checks.push(self.controllers_leases().await);
        }
        checks
    }

    fn is_kubelet(&self) -> bool {
        self.user.name.as_deref().is_some_and(|name| name.starts_with(NODE_USER_PREFIX))
    }

    /// It has a Node of its own in its name or its token, by which our policies know it.
    fn is_ours(&self) -> bool {
        self.user.bound_to.is_some() || self.user.name.as_deref().is_some_and(|name| name.starts_with(USER_PREFIX))
    }

    fn policies_exist(&self) -> Option<Check> {
        let Version { major, minor } = self.version;
        let detail = format!(
            "Kubernetes {major}.{minor} cannot keep an identity of the agent's own to its Node: \
             ValidatingAdmissionPolicy comes with 1.30, and roles alone allow every Node, Event and Lease"
        );
        let advice = "use the kubelet's identity here ([identity] mode = \"kubelet\"), or upgrade the cluster";
        (!self.version.has(1, 30)).then(|| Check::warn("admission policies", detail, advice))
    }

    async fn other_nodes(&self) -> Check {
        let name = "other Nodes";
        match Right::own_status(OTHER_NODE).allowed(self.server).await {
            Ok(false) => return Check::ok(name, "must not be written, and may not be"),
            Err(error) => return Check::warn(name, format!("cannot ask: {error}"), "ask again"),
            Ok(true) => {}
        }
        match self.another_node().await {
            Some(other) => self.other_node(name, &other).await,
            None if self.is_kubelet() => {
                Check::ok(name, "a Node's own identity; NodeRestriction, which clusters have on, keeps it to its Node")
            }
            None if self.is_ours() => self.policy_on_own_node(name).await,
            None => Check::warn(
                name,
                "the roles allow to write them; no other Node is known here to see whether admission forbids it",
                "name one with --other-node, or give the agent an identity of its own Node: nodewell enroll",
            ),
        }
    }

    async fn other_node(&self, name: &str, other: &str) -> Check {
        match self.try_status(other).await {
            Tried::Taken => Check::warn(
                name,
                format!("this identity may write the status of {other}: it is mightier than the agent needs"),
                "use an identity of this Node only: the kubelet's, or one made by `nodewell enroll` with the policies in \
                 /usr/share/nodewell/kubernetes",
            ),
            Tried::Rejected(message) => Check::ok(name, format!("refused by admission: {message}")),
            Tried::Unknown(error) => Check::warn(name, format!("cannot try {other}: {error}"), "ask again"),
        }
    }

    /// The policy that limits the agent to its own Node also limits it to its own conditions, which can be tried on the
    /// own Node.
    async fn policy_on_own_node(&self, name: &str) -> Check {
        match self.try_status(&self.cluster.node).await {
            Tried::Rejected(message) => Check::ok(
                name,
                format!(
                    "the policy that keeps to {} is in force ({message}); --other-node NAME tries one",
                    self.cluster.node
                ),
            ),
            Tried::Taken => Check::warn(
                name,
                "no policy keeps this identity to its Node: roles alone allow every Node",
                APPLY_POLICIES,
            ),
            Tried::Unknown(error) => Check::warn(name, format!("cannot try: {error}"), "ask again"),
        }
    }

    async fn another_node(&self) -> Option<String> {
        if let Some(other) = &self.cluster.other_node {
            return Some(other.clone());
        }
        let list = self.server.get("/api/v1/nodes?limit=2").await.ok()?;
        let names = list["items"].as_array()?.iter().filter_map(|node| node["metadata"]["name"].as_str());
        names.map(str::to_owned).find(|name| *name != self.cluster.node)
    }

    fn other(&self, name: &str, tried: Tried) -> Check {
        match tried {
            Tried::Rejected(message) => Check::ok(name, format!("refused: {message}")),
            Tried::Taken => Check::warn(name, "this identity may write them", APPLY_POLICIES),
            Tried::Unknown(error) => Check::warn(name, format!("cannot try: {error}"), "ask again"),
        }
    }

    /// An annotation is nothing that an agent writes.
    async fn try_status(&self, node: &str) -> Tried {
        let path = format!("/api/v1/nodes/{node}/status?dryRun=All&fieldManager=nodewell-doctor");
        let request = Request::patch(path).header("Content-Type", "application/merge-patch+json");
        self.tried(request, json!({"metadata": {"annotations": {"nodewell.dev/doctor": "dry-run"}}})).await
    }

    async fn foreign_event(&self) -> Tried {
        let event = json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"generateName": "nodewell-doctor-", "namespace": "default"},
            "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": OTHER_NODE},
            "reason": "DryRun", "message": "never stored", "type": "Normal",
            "reportingComponent": "nodewell", "reportingInstance": OTHER_NODE,
        });
        self.tried(creation("/api/v1/namespaces/default/events"), event).await
    }

    /// Roles alone have to refuse it: a Node may be named like the controller's Lease.
    async fn controllers_leases(&self) -> Check {
        let name = "the controller's Leases";
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": OTHER_NODE, "namespace": "nodewell-controller"},
        });
        match self.tried(creation("/apis/coordination.k8s.io/v1/namespaces/nodewell-controller/leases"), lease).await {
            Tried::Taken => Check::warn(
                name,
                "this identity may write them, and so decide which controller acts",
                "find the role: kubectl auth can-i --list -n nodewell-controller --as USER; agents have none there",
            ),
            tried => self.other(name, tried),
        }
    }

    async fn foreign_lease(&self) -> Tried {
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": OTHER_NODE, "namespace": "nodewell"},
        });
        self.tried(creation("/apis/coordination.k8s.io/v1/namespaces/nodewell/leases"), lease).await
    }

    async fn tried(&self, request: Builder, body: Value) -> Tried {
        match self.server.ask(request, body).await {
            Ok(_) => Tried::Taken,
            // Roles and NodeRestriction answer 403, policies 422 unless they set another code.
            Err(AskError::Rejected { code: 403 | 422, message }) => Tried::Rejected(message),
            Err(error) => Tried::Unknown(error),
        }
    }
}

fn creation(path: &str) -> Builder {
    Request::post(format!("{path}?dryRun=All&fieldManager=nodewell-doctor")).header("Content-Type", "application/json")
}
