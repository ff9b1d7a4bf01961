//! The cluster a case runs on: the double or the real server, behind the same methods.

mod client;
mod policy;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Value, json};

pub use client::{Call, Client};
use policy::refusing_policy;
pub(crate) use policy::{POLICY, POLICY_MESSAGE};

use crate::{
    double::{Double, Fault},
    real::RealServer,
    wait::until,
};

/// The identity that asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// `system:masters`.
    Admin,
    /// `system:node:NAME` in `system:nodes`, as a kubelet.
    Node(String),
    /// `nodewell:node:NAME` in `nodewell:nodes`: an agent that was enrolled.
    Agent(String),
    /// `nodewell:controller`, and nothing beside: what it may do is in packaging/rbac.
    Controller,
    /// `nodewell:approver`, likewise.
    Approver,
    /// `system:kube-controller-manager`; each of its controllers has a service account of its own.
    ControllerManager,
    /// `eva` in this group, for roles to be bound to.
    Person(&'static str),
    /// The holder of this token.
    Bearer(String),
    /// Known, and may do nothing.
    Stranger,
    /// Not known to the server.
    Unknown,
}

/// A server and its administrator.
#[derive(Debug)]
pub struct Cluster {
    server: Server,
    admin: Client,
}

#[derive(Debug)]
enum Server {
    Double(Box<Double>),
    Real(Arc<RealServer>),
}

impl Cluster {
    /// A new double.
    #[must_use]
    pub fn double() -> Self {
        Self::new(Server::Double(Box::new(Double::start())))
    }

    /// The real server that all cases of this process share; Nodes are the case's own.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn shared_real() -> Self {
        Self::new(Server::Real(RealServer::shared()))
    }

    /// A real server of its own, for cases that kill it.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn own_real() -> Self {
        Self::new(Server::Real(Arc::new(RealServer::start().unwrap())))
    }

    fn new(server: Server) -> Self {
        let admin = Client::new(&server.kubeconfig(&Identity::Admin));
        Self { server, admin }
    }

    /// Whether this is the double.
    #[must_use]
    pub fn is_double(&self) -> bool {
        matches!(self.server, Server::Double(_))
    }

    /// The double, for faults that only it can play.
    ///
    /// # Panics
    /// On the real server.
    #[must_use]
    pub fn as_double(&self) -> &Double {
        match &self.server {
            Server::Double(double) => double,
            Server::Real(_) => panic!("this case is for the double only"),
        }
    }

    /// The real server, for what the double does not know: roles, policies, certificates.
    ///
    /// # Panics
    /// On the double.
    #[must_use]
    pub fn as_real(&self) -> &RealServer {
        match &self.server {
            Server::Real(real) => real,
            Server::Double(_) => panic!("this case is for the real server only"),
        }
    }

    /// From now on it takes connections and requests and answers none.
    pub fn freeze(&self) {
        match &self.server {
            Server::Double(double) => double.fail_all(Fault::Hang),
            Server::Real(real) => real.freeze(),
        }
    }

    /// It answers again.
    pub fn thaw(&self) {
        match &self.server {
            Server::Double(double) => double.heal(),
            Server::Real(real) => real.thaw(),
        }
    }

    /// Saves what it has now; a real server is away for a moment.
    pub fn back_up(&self) {
        match &self.server {
            Server::Double(double) => double.back_up(),
            Server::Real(real) => real.back_up(),
        }
    }

    /// Has what it had at the backup; a real server is away for a moment.
    pub fn restore(&self) {
        match &self.server {
            Server::Double(double) => double.restore(),
            Server::Real(real) => real.restore(),
        }
    }

    /// A kubeconfig of `identity`.
    #[must_use]
    pub fn kubeconfig(&self, identity: &Identity) -> Value {
        self.server.kubeconfig(identity)
    }

    /// One request of the administrator's.
    #[must_use]
    pub fn admin(&self, call: &Call) -> (u16, Value) {
        self.admin.call(call)
    }

    /// SIGKILL for the server.
    pub fn stop(&self) {
        match &self.server {
            Server::Double(double) => double.stop(),
            Server::Real(real) => real.stop(),
        }
    }

    /// Again on the same port, with the same content.
    pub fn start_again(&self) {
        match &self.server {
            Server::Double(double) => double.start_again(),
            Server::Real(real) => real.start_again().unwrap(),
        }
    }

    /// A client of `identity`.
    #[must_use]
    pub fn client(&self, identity: &Identity) -> Client {
        Client::new(&self.server.kubeconfig(identity))
    }

    /// Writes the kubeconfig of `identity` into `folder`, replacing what was there in one step.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn write_kubeconfig(&self, identity: &Identity, folder: &Path) -> PathBuf {
        let (path, new) = (folder.join("kubeconfig"), folder.join("kubeconfig.new"));
        fs::write(&new, self.server.kubeconfig(identity).to_string()).unwrap();
        fs::rename(&new, &path).unwrap();
        path
    }

    /// A new Node; gives its UID.
    ///
    /// # Panics
    /// If there is one already.
    pub fn create_node(&self, name: &str) -> String {
        let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name } });
        let (code, node) = self.admin.call(&Call::post("/api/v1/nodes", &node));
        assert_eq!(code, 201, "{node}");
        node["metadata"]["uid"].as_str().unwrap().to_owned()
    }

    /// Makes the namespace of the agents' Leases; there may be one already.
    ///
    /// # Panics
    /// If the server will not have it.
    pub fn create_namespace(&self, name: &str) {
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        let (code, answer) = self.admin.call(&Call::post("/api/v1/namespaces", &namespace));
        assert!([201, 409].contains(&code), "{answer}");
    }

    /// The agent's Lease for Node `name`.
    #[must_use]
    pub fn lease(&self, name: &str) -> Option<Value> {
        let (code, lease) = self.admin.call(&Call::get(&lease_path(name)));
        (code == 200).then_some(lease)
    }

    /// As the garbage collector does once the Node has gone.
    ///
    /// # Panics
    /// If there is none.
    pub fn delete_lease(&self, name: &str) {
        let (code, answer) = self.admin.call(&Call::delete(&lease_path(name)));
        assert_eq!(code, 200, "{answer}");
    }

    /// # Panics
    /// If there is no such Node.
    #[must_use]
    pub fn node_uid(&self, name: &str) -> String {
        let (_, node) = self.admin.call(&Call::get(&format!("/api/v1/nodes/{name}")));
        node["metadata"]["uid"].as_str().unwrap().to_owned()
    }

    /// # Panics
    /// If there is none.
    pub fn delete_node(&self, name: &str) {
        let (code, answer) = self.admin.call(&Call::delete(&format!("/api/v1/nodes/{name}")));
        assert_eq!(code, 200, "{answer}");
    }

    /// The conditions of Node `name`, as they stand.
    #[must_use]
    pub fn conditions(&self, name: &str) -> Vec<Value> {
        let (_, node) = self.admin.call(&Call::get(&format!("/api/v1/nodes/{name}")));
        node["status"]["conditions"].as_array().cloned().unwrap_or_default()
    }

    /// One condition of Node `name`.
    #[must_use]
    pub fn condition(&self, name: &str, condition: &str) -> Option<Value> {
        self.conditions(name).into_iter().find(|one| one["type"] == condition)
    }

    /// From now on the server refuses every Node with this condition; `probe` is a Node to see it by.
    ///
    /// # Panics
    /// If the server will have no policy.
    pub fn refuse_condition(&self, condition: &str, probe: &str) {
        match &self.server {
            Server::Double(double) => double.refuse_condition(condition),
            Server::Real(_) => {
                for (plural, object) in refusing_policy(condition) {
                    let path = format!("/apis/admissionregistration.k8s.io/v1/{plural}");
                    let (code, answer) = self.admin.call(&Call::post(&path, &object));
                    assert_eq!(code, 201, "{answer}");
                }
            }
        }
        let path = format!("/api/v1/nodes/{probe}/status?fieldManager=probe&dryRun=All");
        let conditions = json!([{ "type": condition, "status": "False" }]);
        let refused = || {
            (self.admin.call(&Call::strategic_merge(&path, &json!({ "status": { "conditions": conditions } }))).0
                == 422)
                .then_some(())
        };
        until("the policy is in force", refused);
    }

    /// Events about Node `name` with this reason, in the order of their first timestamps.
    #[must_use]
    pub fn events(&self, name: &str, reason: &str) -> Vec<Value> {
        let path =
            format!("/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3D{name},reason%3D{reason}");
        let (_, list) = self.admin.call(&Call::get(&path));
        let mut events = list["items"].as_array().cloned().unwrap_or_default();
        events.sort_by_key(|event| event["firstTimestamp"].as_str().unwrap_or_default().to_owned());
        events
    }

    /// Another writer, as Node Problem Detector writes: a strategic merge under a name of its own.
    ///
    /// # Panics
    /// If the server refuses.
    pub fn write_as_peer(&self, name: &str, manager: &str, conditions: &Value) {
        let path = format!("/api/v1/nodes/{name}/status?fieldManager={manager}");
        let body = json!({ "status": { "conditions": conditions } });
        let (code, answer) = self.admin.call(&Call::strategic_merge(&path, &body));
        assert_eq!(code, 200, "{answer}");
    }
}

fn lease_path(node: &str) -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/nodewell/leases/{node}")
}

impl Server {
    fn kubeconfig(&self, identity: &Identity) -> Value {
        match self {
            Self::Double(double) => double.kubeconfig(identity),
            Self::Real(real) => real.kubeconfig(identity),
        }
    }
}

/// A kubeconfig with one cluster and one user.
#[must_use]
pub fn kubeconfig(cluster: Value, user: Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "tests", "cluster": cluster }],
        "users": [{ "name": "tests", "user": user }],
        "contexts": [{ "name": "tests", "context": { "cluster": "tests", "user": "tests" } }],
        "current-context": "tests",
    })
}
