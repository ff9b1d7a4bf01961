//! Sees what a real API server has accepted, at the moment at which any watcher of the cluster sees it.

use std::{
    sync::mpsc::{Receiver, Sender, channel},
    time::{Duration, Instant},
};

use http_body_util::BodyExt;
use hyper::Request;
use kube::{
    Client, Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use nodewell_tests::{
    cluster::{Cluster, Identity},
    runtime::{block_on, runtime},
};
use serde_json::Value;
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(20);

/// An object as a watch brought it.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) at: Instant,
    pub(crate) object: Value,
}

/// Watches of all Nodes and of the Events in `default`.
#[derive(Debug)]
pub(crate) struct Observer {
    nodes: Receiver<Seen>,
    events: Receiver<Seen>,
}

impl Observer {
    pub(crate) fn new(cluster: &Cluster) -> Self {
        let client = administrator(cluster);
        let nodes = watch(client.clone(), "/api/v1/nodes?watch=true");
        Self { nodes, events: watch(client, "/api/v1/namespaces/default/events?watch=true") }
    }

    /// When Node `node` was first seen to be so that `wanted` of its conditions.
    pub(crate) fn node(&self, node: &str, wanted: impl Fn(&[Value]) -> bool) -> Instant {
        first(&self.nodes, |object| {
            let conditions = object["status"]["conditions"].as_array();
            object["metadata"]["name"] == node && conditions.is_some_and(|conditions| wanted(conditions))
        })
    }

    /// When condition `name` of `node` was first seen to be True.
    pub(crate) fn condition(&self, node: &str, name: &str) -> Instant {
        self.node(node, |conditions| conditions.iter().any(|one| one["type"] == name && one["status"] == "True"))
    }

    /// When an Event of `reason` about `node` was first seen.
    pub(crate) fn event(&self, node: &str, reason: &str) -> Instant {
        first(&self.events, |object| object["involvedObject"]["name"] == node && object["reason"] == reason)
    }
}

/// Nodes that become unschedulable, from now on: a watch of these alone, which costs the server next to nothing.
pub(crate) fn cordons(cluster: &Cluster) -> Receiver<Seen> {
    watch(administrator(cluster), "/api/v1/nodes?watch=true&fieldSelector=spec.unschedulable%3Dtrue")
}

fn administrator(cluster: &Cluster) -> Client {
    let folder = TempDir::with_prefix("nodewell-bench-").unwrap();
    let kubeconfig = Kubeconfig::read_from(cluster.write_kubeconfig(&Identity::Admin, folder.path())).unwrap();
    block_on(async {
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        // The certificates were read into it: the folder may go.
        // A watch is silent while nothing happens.
        config.read_timeout = None;
        Client::try_from(config).unwrap()
    })
}

fn first(seen: &Receiver<Seen>, wanted: impl Fn(&Value) -> bool) -> Instant {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let Seen { at, object } = seen.recv_timeout(left).expect("the API server shows it within the patience");
        if wanted(&object) {
            return at;
        }
    }
}

fn watch(client: Client, path: &'static str) -> Receiver<Seen> {
    let (sender, receiver) = channel();
    runtime().spawn(async move {
        let request = Request::get(path).body(Body::empty()).expect("the path is well formed");
        let answer = client.send(request).await.expect("an administrator may watch");
        follow(answer.into_body(), &sender).await;
    });
    receiver
}

/// One JSON object a line, until the bench no longer listens.
async fn follow(mut body: Body, sender: &Sender<Seen>) {
    let mut held = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        let at = Instant::now();
        held.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
        while let Some(end) = memchr::memchr(b'\n', &held) {
            let line: Vec<u8> = held.drain(..=end).collect();
            let mut change: Value = serde_json::from_slice(&line).unwrap_or_default();
            if sender.send(Seen { at, object: change["object"].take() }).is_err() {
                return;
            }
        }
    }
}
