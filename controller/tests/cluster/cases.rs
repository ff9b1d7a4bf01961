//! What a case is, and what cases of several subjects make.

use std::{future::Future, pin::Pin, sync::Arc};

use nodewell_remediation::{
    api::{
        Meta,
        fence::{NodeFence, NodeFenceSpec, NodeFenceStatus},
        policy::{CordonStep, StepSpec},
    },
    facts::{Effect, Taint},
};
use serde_json::{Value, json};

use crate::server::Server;

pub(crate) type Case = fn(Arc<Server>) -> Pin<Box<dyn Future<Output = ()>>>;

macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        pub(crate) const ALL: &[(&str, $crate::cases::Case)] =
            &[$((stringify!($name), |server| Box::pin($name(server)))),*];
    };
}
pub(crate) use cases;

pub(crate) async fn admin(server: &Server, verb: &str, path: &str, body: Value) -> Value {
    let wire = server.cluster("admin").await.wire().clone();
    match verb {
        "create" => wire.create(path, &body).await,
        "replace" => wire.replace(path, &body).await,
        _ => wire.merge(path, &body).await,
    }
    .unwrap()
}

/// A Node, and its UID.
pub(crate) async fn make_node(server: &Server, name: &str) -> String {
    let body = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name } });
    let node = admin(server, "create", "/api/v1/nodes", body).await;
    node["metadata"]["uid"].as_str().unwrap().to_owned()
}

pub(crate) fn taint(key: &str) -> Taint {
    Taint { key: key.into(), value: "x".into(), effect: Effect::NoSchedule }
}

pub(crate) fn fence(name: &str) -> NodeFence {
    NodeFence {
        metadata: Meta { name: name.into(), ..Meta::default() },
        spec: NodeFenceSpec {
            node_name: name.into(),
            node_uid: "u".into(),
            policy: "p".into(),
            steps: vec![StepSpec { cordon: Some(CordonStep {}), ..StepSpec::default() }],
            ..NodeFenceSpec::default()
        },
        status: NodeFenceStatus::default(),
    }
}
