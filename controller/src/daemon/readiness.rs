//! The condition `FenceReady` of every node: whether it could be fenced, found out long before it has to be.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use nodewell_power::native::{NativePower, Preflight};
use nodewell_reconcile::{clock::Clock, leader::Term, world::World};
use nodewell_remedy::{
    facts::{Node, Truth},
    snapshot::Snapshot,
};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::kube::{FIELD_MANAGER, KubeCluster};

const CONDITION: &str = "FenceReady";
/// Each node is asked once in a round; BMCs are slow and log every login.
const ROUND: Duration = Duration::from_secs(600);
/// A new leader wants to know of all soon.
const FIRST_ROUND_APART: Duration = Duration::from_millis(500);
const MOST_APART: Duration = Duration::from_secs(30);

/// What was written last, by node.
type Told = BTreeMap<String, (Truth, &'static str)>;

/// While `term` is ours; never returns.
pub(super) async fn look_after(
    power: &NativePower<KubeCluster>,
    cluster: &KubeCluster,
    world: &World,
    term: Term,
) -> std::convert::Infallible {
    let clock = cluster.clock();
    let (mut told, mut apart) = (Told::new(), FIRST_ROUND_APART);
    loop {
        let names: BTreeSet<String> = world.with(|snapshot| snapshot.nodes.keys().cloned().collect());
        power.keep_only(|name| names.contains(name));
        for name in &names {
            sleep(apart).await;
            if !leads(&term, clock) {
                (told, apart) = (Told::new(), FIRST_ROUND_APART);
                continue;
            }
            if let Some((node, wanted)) = world.with(|snapshot| seen(snapshot, name)) {
                ask(power, cluster, (&node, wanted), &mut told).await;
            }
        }
        if names.is_empty() || !leads(&term, clock) {
            sleep(FIRST_ROUND_APART).await;
        } else {
            apart = (ROUND / u32::try_from(names.len()).unwrap_or(u32::MAX)).min(MOST_APART);
        }
    }
}

fn leads(term: &Term, clock: Clock) -> bool {
    term.borrow().as_ref().is_some_and(|life| life.holds(clock.moment()))
}

/// The node, and whether any policy would turn it off: only then is a node without methods worth a word.
fn seen(snapshot: &Snapshot, name: &str) -> Option<(Node, bool)> {
    let powers = |step: &nodewell_remedy::api::policy::StepSpec| step.reboot.is_some() || step.power_cycle.is_some();
    let node = Node::clone(snapshot.nodes.get(name)?);
    Some((node, snapshot.policies.iter().any(|policy| policy.steps.iter().any(powers))))
}

async fn ask(power: &NativePower<KubeCluster>, cluster: &KubeCluster, (node, wanted): (&Node, bool), told: &mut Told) {
    let word = power.preflight(node).await;
    let set = if word.reason == "NoMethods" && !wanted { json!([]) } else { json!([condition(node, &word)]) };
    let news = (word.status, word.reason);
    let is_there = node.condition(CONDITION).is_some();
    if told.get(&node.name) == Some(&news) || set.as_array().is_some_and(Vec::is_empty) && !is_there {
        return;
    }
    let path = format!("/api/v1/nodes/{}/status", node.name);
    let metadata = json!({ "name": node.name, "uid": node.uid });
    let body = json!({ "apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": { "conditions": set } });
    match cluster.wire().apply(&path, FIELD_MANAGER, &body).await {
        Ok(_) => {
            tracing::info!(node = node.name, status = %word.status, reason = word.reason, message = word.message, "FenceReady");
            told.insert(node.name.clone(), news);
        }
        Err(failure) => tracing::warn!(node = node.name, %failure, "FenceReady cannot be written; tried again"),
    }
}

fn condition(node: &Node, word: &Preflight) -> Value {
    let now = jiff::Timestamp::now();
    let before = node.condition(CONDITION).filter(|before| before.status == word.status);
    let since = before.and_then(|before| before.since).unwrap_or(now);
    let message: String = word.message.chars().take(256).collect();
    json!({
        "type": CONDITION, "status": word.status.to_string(), "reason": word.reason, "message": message,
        "lastHeartbeatTime": format!("{now:.0}"), "lastTransitionTime": format!("{since:.0}"),
    })
}
