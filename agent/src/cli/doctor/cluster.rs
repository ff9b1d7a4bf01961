//! What the API server lets this identity do: what the agent needs, and nothing more.

mod rights;

use std::{path::PathBuf, time::Duration};

use hyper::Request;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::check::Check;
use rights::Right;

/// For each request; a server in trouble is what this is for.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Kubelets are called so (`Using Node Authorization`).
const NODE_USER_PREFIX: &str = "system:node:";
/// A node that nobody has, to ask what the identity may do to others.
const NOBODY: &str = "nodewell-doctor-other-node";

/// A kubeconfig to try, and the Node it is for.
pub(super) struct Cluster {
    pub(super) kubeconfig: PathBuf,
    pub(super) node: String,
}

impl Cluster {
    pub(super) async fn examine(&self) -> Vec<Check> {
        let (client, server) = match self.client().await {
            Ok(client) => client,
            Err(check) => return vec![check],
        };
        let mut checks = vec![Check::ok("kubeconfig", format!("{} names {server}", self.kubeconfig.display()))];
        let reached = reach(&client).await;
        let go_on = reached.is_ok();
        checks.push(reached.unwrap_or_else(|check| check));
        if go_on {
            let user = user(&client).await;
            checks.extend(user.as_deref().map(|user| self.identity(user)));
            checks.push(self.node_exists(&client).await);
            checks.extend(self.needed_rights(&client).await);
            checks.push(self.other_nodes(&client, user.as_deref()).await);
        }
        checks
    }

    async fn client(&self) -> Result<(Client, String), Check> {
        let path = self.kubeconfig.display();
        let remedy = "name a readable kubeconfig; the kubelet's is root's: /etc/kubernetes/kubelet.conf";
        let broken = |error: String| Check::fail("kubeconfig", format!("{path}: {error}"), remedy);
        let kubeconfig = Kubeconfig::read_from(&self.kubeconfig).map_err(|error| broken(error.to_string()))?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        let config = config.map_err(|error| broken(error.to_string()))?;
        let server = config.cluster_url.to_string();
        let client = Client::try_from(config).map_err(|error| broken(error.to_string()))?;
        Ok((client, server))
    }

    /// The user name that the API server gives to this Node's kubelet.
    fn node_user(&self) -> String {
        format!("{NODE_USER_PREFIX}{}", self.node)
    }

    fn identity(&self, user: &str) -> Check {
        match user.strip_prefix(NODE_USER_PREFIX) {
            Some(other) if other != self.node => Check::fail(
                "identity",
                format!("{user}: that is Node {other}'s, and this is {}", self.node),
                "give each node its own kubeconfig, or the right --node-name",
            ),
            _ => Check::ok("identity", user),
        }
    }

    async fn node_exists(&self, client: &Client) -> Check {
        let (name, node) = ("own Node", &self.node);
        match ask(client, Request::get(format!("/api/v1/nodes/{node}")), Value::Null).await {
            Ok(_) => Check::ok(name, node.clone()),
            Err(Trouble::Refused { code: 404, .. }) => Check::fail(
                name,
                format!("there is no Node {node}"),
                "name it with --node-name as in `kubectl get nodes`; the agent waits until the kubelet has registered it",
            ),
            Err(Trouble::Refused { code: 403, .. }) => {
                Check::ok(name, format!("{node}: this identity may not read it, which the agent does not need"))
            }
            Err(trouble) => Check::warn(name, trouble.to_string(), "ask again"),
        }
    }

    async fn needed_rights(&self, client: &Client) -> Vec<Check> {
        let mut checks = Vec::new();
        for right in [Right::own_status(&self.node), Right::event("create"), Right::event("patch")] {
            checks.push(match right.allowed(client).await {
                Ok(true) => Check::ok(right.name, "allowed"),
                Ok(false) => Check::fail(right.name, "not allowed", right.remedy()),
                Err(trouble) => Check::warn(right.name, format!("cannot ask: {trouble}"), "ask again"),
            });
        }
        checks
    }

    /// RBAC cannot say "own Node only"; admission can (NodeRestriction, or the policy we ship), and only a real
    /// write, as a dry run, shows whether it does.
    async fn other_nodes(&self, client: &Client, user: Option<&str>) -> Check {
        let name = "other Nodes";
        match Right::own_status(NOBODY).allowed(client).await {
            Ok(false) => return Check::ok(name, "must not be written, and may not be"),
            Err(trouble) => return Check::warn(name, format!("cannot ask: {trouble}"), "ask again"),
            Ok(true) => {}
        }
        let Some(other) = self.another_node(client).await else {
            if user == Some(self.node_user().as_str()) {
                return Check::ok(
                    name,
                    "a Node's own identity; NodeRestriction, which clusters have on, keeps it to its Node",
                );
            }
            return Check::warn(
                name,
                "the roles allow to write them; there is no other Node here to see whether admission forbids it",
                "bind the agent to an identity of its own Node (system:node:NAME, or the admission policy in packaging)",
            );
        };
        match dry_run(client, &other).await {
            Ok(_) => Check::warn(
                name,
                format!("this identity may write the status of {other}: it is mightier than the agent needs"),
                "use an identity of this Node only: the kubelet's, or one made by `nodewell enroll`",
            ),
            Err(Trouble::Refused { code: 403, message }) => Check::ok(name, format!("refused by admission: {message}")),
            Err(trouble) => Check::warn(name, format!("cannot try {other}: {trouble}"), "ask again"),
        }
    }

    async fn another_node(&self, client: &Client) -> Option<String> {
        let list = ask(client, Request::get("/api/v1/nodes?limit=2"), Value::Null).await.ok()?;
        let names = list["items"].as_array()?.iter().filter_map(|node| node["metadata"]["name"].as_str());
        names.map(str::to_owned).find(|name| *name != self.node)
    }
}

async fn reach(client: &Client) -> Result<Check, Check> {
    let name = "API server";
    match ask(client, Request::get("/version"), Value::Null).await {
        Ok(version) => {
            Ok(Check::ok(name, format!("answers, {}", version["gitVersion"].as_str().unwrap_or("version unknown"))))
        }
        Err(Trouble::Refused { code: 401, message }) => Err(Check::fail(
            name,
            format!("does not know this identity: {message}"),
            "its certificate or token has expired",
        )),
        // Some clusters hide the version from ordinary identities; the server answers all the same.
        Err(Trouble::Refused { code: 403, .. }) => Ok(Check::ok(name, "answers")),
        Err(trouble) => {
            Err(Check::fail(name, trouble.to_string(), "is the server up, and is its address reachable from here?"))
        }
    }
}

/// Who the server takes us for; servers before 1.28 do not say.
async fn user(client: &Client) -> Option<String> {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let request = Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews");
    let answer = ask(client, request.header("Content-Type", "application/json"), review).await.ok()?;
    answer["status"]["userInfo"]["username"].as_str().map(str::to_owned)
}

async fn dry_run(client: &Client, node: &str) -> Result<Value, Trouble> {
    let path = format!("/api/v1/nodes/{node}/status?dryRun=All&fieldManager=nodewell-doctor");
    let request = Request::patch(path).header("Content-Type", "application/merge-patch+json");
    let condition = json!({"metadata": {"annotations": {"nodewell.dev/doctor": "dry-run"}}});
    ask(client, request, condition).await
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("{message} (HTTP {code})")]
    Refused { code: u16, message: String },
    #[error("{0}")]
    Unreachable(String),
    #[error("no answer within {} s", REQUEST_TIMEOUT.as_secs())]
    Timeout,
}

async fn ask(client: &Client, request: hyper::http::request::Builder, body: Value) -> Result<Value, Trouble> {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = request.body(body).map_err(|error| Trouble::Unreachable(error.to_string()))?;
    match timeout(REQUEST_TIMEOUT, client.request(request)).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) => {
            Err(Trouble::Refused { code: status.code, message: status.message.clone() })
        }
        Ok(Err(error)) => Err(Trouble::Unreachable(whole_story(&error))),
        Err(_) => Err(Trouble::Timeout),
    }
}

/// `client error` alone helps nobody: the causes are what a person needs.
fn whole_story(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let words = inner.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests;
