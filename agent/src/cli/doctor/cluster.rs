//! What the API server lets this identity do: what the agent needs, and nothing more.

mod reach;
mod rights;
mod secret;
mod writers;

use std::{collections::BTreeSet, path::PathBuf};

use nodewell_model::Name;
use serde_json::{Value, json};

use super::check::Check;
use crate::identity::{AskError, Credentials, Kubeconfig, Server, USER_PREFIX};
use reach::Reach;
use rights::Right;

/// Kubelets are called so (`Using Node Authorization`).
const NODE_USER_PREFIX: &str = "system:node:";

/// A kubeconfig to try, and the Node it is for.
pub(super) struct Cluster {
    pub(super) kubeconfig: PathBuf,
    pub(super) node: String,
    /// Another Node, to try on whether it is out of reach.
    pub(super) other_node: Option<String>,
    /// The types of the agent's conditions.
    pub(super) conditions: BTreeSet<Name>,
}

/// The user that the server takes us for.
#[derive(Debug, Default)]
struct User {
    /// Servers before 1.28 do not report it.
    name: Option<String>,
    /// The Node that a service account's token is bound to.
    bound_to: Option<String>,
}

/// As the server reports it; zeros if it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Version {
    major: u32,
    minor: u32,
}

impl Cluster {
    pub(super) async fn examine(&self) -> Vec<Check> {
        let (server, address) = match self.server() {
            Ok(server) => server,
            Err(check) => return vec![check],
        };
        let mut checks = vec![Check::ok("kubeconfig", format!("{} names {address}", self.kubeconfig.display()))];
        checks.extend(secret::examine(&self.kubeconfig, &self.node).await);
        let (reached, version) = reach(&server).await;
        let go_on = version.is_some();
        checks.push(reached);
        if let Some(version) = version.filter(|_| go_on) {
            let user = user(&server).await;
            checks.extend(self.identity(&user));
            checks.extend(self.own_node(&server).await);
            checks.extend(self.needed_rights(&server).await);
            let reach = Reach { cluster: self, server: &server, user: &user, version };
            checks.extend(reach.examine().await);
        }
        checks
    }

    /// The server, and its address as it is written.
    fn server(&self) -> Result<(Server, String), Check> {
        let path = self.kubeconfig.display();
        let advice = "name a readable kubeconfig; the kubelet's is root's: /etc/kubernetes/kubelet.conf";
        let broken = |error: String| Check::fail("kubeconfig", format!("{path}: {error}"), advice);
        let kubeconfig = Kubeconfig::read_here(&self.kubeconfig).map_err(|error| broken(error.to_string()))?;
        // As the agent reads it, which takes less than others do.
        let credentials = Credentials::without_plugin(&self.kubeconfig, &kubeconfig)
            .map_err(|error| Check::fail("kubeconfig", error.to_string(), advice))?;
        let server = Server::of(&credentials).map_err(|error| broken(error.to_string()))?;
        Ok((server, credentials.cluster.server))
    }

    fn identity(&self, user: &User) -> Option<Check> {
        let name = user.name.as_deref()?;
        let own = [NODE_USER_PREFIX, USER_PREFIX].iter().find_map(|prefix| name.strip_prefix(prefix));
        Some(match own.or(user.bound_to.as_deref()) {
            Some(other) if other != self.node => Check::fail(
                "identity",
                format!("{name}: that is Node {other}'s, and this is {}", self.node),
                "give each node its own identity (nodewell enroll), or the right --node-name",
            ),
            Some(node) if own.is_none() => Check::ok("identity", format!("{name}, bound to Node {node}")),
            _ => Check::ok("identity", name),
        })
    }

    /// Whether it is there, and who else writes it.
    async fn own_node(&self, server: &Server) -> Vec<Check> {
        let answer = server.get(&format!("/api/v1/nodes/{}", self.node)).await;
        let writers = answer.as_ref().ok().map(|node| writers::examine(node, &self.conditions));
        std::iter::once(self.node_exists(answer)).chain(writers).collect()
    }

    fn node_exists(&self, answer: Result<Value, AskError>) -> Check {
        let (name, node) = ("own Node", &self.node);
        match answer {
            Ok(_) => Check::ok(name, node.clone()),
            Err(AskError::Rejected { code: 404, .. }) => Check::fail(
                name,
                format!("there is no Node {node}"),
                "name it with --node-name as in `kubectl get nodes`; the agent waits until the kubelet has registered it",
            ),
            Err(AskError::Rejected { code: 403, .. }) => {
                Check::ok(name, format!("{node}: this identity may not read it, which the agent does not need"))
            }
            Err(error) => Check::warn(name, error.to_string(), "ask again"),
        }
    }

    async fn needed_rights(&self, server: &Server) -> Vec<Check> {
        let mut checks = Vec::new();
        let needed = [Right::own_status(&self.node), Right::event("create"), Right::event("patch")];
        for right in needed.into_iter().chain([Right::own_lease(&self.node)]) {
            checks.push(match right.allowed(server).await {
                Ok(true) => Check::ok(right.name, "allowed"),
                Ok(false) if right.is_optional => Check::ok(right.name, format!("not allowed: {}", right.advice())),
                Ok(false) => Check::fail(right.name, "not allowed", right.advice()),
                Err(error) => Check::warn(right.name, format!("cannot ask: {error}"), "ask again"),
            });
        }
        checks
    }
}

/// Whether the server answers, and its version if it does.
async fn reach(server: &Server) -> (Check, Option<Version>) {
    let name = "API server";
    match server.get("/version").await {
        Ok(found) => {
            let words = found["gitVersion"].as_str().unwrap_or("version unknown");
            (Check::ok(name, format!("answers, {words}")), Some(Version::of(&found)))
        }
        // Some clusters hide the version from ordinary identities; the server answers all the same.
        Err(AskError::Rejected { code: 403, .. }) => (Check::ok(name, "answers"), Some(Version::default())),
        Err(error) => {
            let advice = advice(&error);
            (Check::fail(name, error.to_string(), advice), None)
        }
    }
}

fn advice(error: &AskError) -> &'static str {
    match error {
        AskError::Rejected { code: 401, .. } => {
            "it does not know this identity: its certificate or token has expired, or is another cluster's; \
             get one here: nodewell enroll --renew"
        }
        AskError::ForeignAuthority(_) => {
            "the kubeconfig's certificate-authority is another cluster's, or was renewed: take this cluster's \
             (kubectl config view --raw), and look that the address is this cluster's"
        }
        _ => "is the server up, and is its address reachable from here?",
    }
}

impl Version {
    /// Clouds report versions such as `29+`.
    fn of(found: &Value) -> Self {
        let number = |key: &str| {
            let text = found[key].as_str().unwrap_or_default();
            text.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0)
        };
        Self { major: number("major"), minor: number("minor") }
    }

    /// Whether it has the features of this release; a server that does not report its version counts as new.
    fn has(self, major: u32, minor: u32) -> bool {
        self == Self::default() || self >= Self { major, minor }
    }
}

async fn user(server: &Server) -> User {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let answer = server.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review).await.unwrap_or_default();
    let user = &answer["status"]["userInfo"];
    let bound_to = &user["extra"]["authentication.kubernetes.io/node-name"][0];
    User { name: user["username"].as_str().map(str::to_owned), bound_to: bound_to.as_str().map(str::to_owned) }
}

#[cfg(test)]
mod tests;
