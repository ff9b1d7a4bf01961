//! etcd's members and their health, asked of etcd itself. What cannot be asked is unknown, and then no control-plane node
//! is touched.

use std::{sync::Arc, time::Duration};

use kube::config::{KubeConfigOptions, Kubeconfig};
use nodewell_reconcile::world::World;
use nodewell_remedy::snapshot::Quorum;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    config::Etcd,
    kube::{Requests, Wire, client},
};

/// A member that fell is known before a Lease of its host has expired (40 s).
const APART: Duration = Duration::from_secs(10);
const ANSWER: Duration = Duration::from_secs(3);

/// Keeps the quorum in the world; never returns.
pub(super) async fn ask(etcd: Option<&Etcd>, world: &World) {
    let Some(etcd) = etcd else { return std::future::pending().await };
    loop {
        let quorum = quorum(etcd).await.unwrap_or_else(|why| {
            tracing::warn!(why, "etcd's quorum is not known; no control-plane node is touched");
            Quorum::Unknown
        });
        world.set_etcd(quorum);
        sleep(APART).await;
    }
}

async fn quorum(etcd: &Etcd) -> Result<Quorum, String> {
    let (mut healthy, mut total) = (0, None);
    for endpoint in &etcd.endpoints {
        let wire = wire(etcd, endpoint).await?;
        if is_healthy(&wire).await {
            healthy += 1;
            total = total.or(members(&wire).await);
        }
    }
    // More healthy endpoints than members: two names of one member, or another cluster.
    match total {
        Some(total) if healthy <= total => Ok(Quorum::Members { healthy, total }),
        Some(total) => Err(format!("{healthy} endpoints are healthy, and there are {total} members")),
        None => Err("no member says which members there are".to_owned()),
    }
}

/// `/health` of a member asks for a linearizable read: it is healthy only with a quorum.
async fn is_healthy(wire: &Wire) -> bool {
    let health: Option<Value> = wire.get("/health").await.ok().flatten();
    health.is_some_and(|health| health["health"] == "true")
}

/// Voting members, by etcd's JSON gateway.
async fn members(wire: &Wire) -> Option<usize> {
    let list: Value = wire.create("/v3/cluster/member/list", &json!({})).await.ok()?;
    let members = list["members"].as_array()?;
    Some(members.iter().filter(|member| member["isLearner"] != true).count())
}

/// Files are read anew each time: certificates are renewed.
async fn wire(etcd: &Etcd, endpoint: &str) -> Result<Wire, String> {
    let words = json!({
        "current-context": "etcd",
        "clusters": [{ "name": "etcd", "cluster": { "server": endpoint, "certificate-authority": etcd.ca } }],
        "users": [{ "name": "etcd", "user": { "client-certificate": etcd.cert, "client-key": etcd.key } }],
        "contexts": [{ "name": "etcd", "context": { "cluster": "etcd", "user": "etcd" } }],
    });
    let told = |error: &dyn std::error::Error| format!("{endpoint}: {error}");
    let words: Kubeconfig = serde_json::from_value(words).map_err(|error| told(&error))?;
    let config = kube::Config::from_custom_kubeconfig(words, &KubeConfigOptions::default()).await;
    let config = config.map_err(|error| told(&error))?;
    let client = client(config, Arc::new(Requests::default())).map_err(|error| told(&error))?;
    Ok(Wire::new(client, ANSWER))
}
