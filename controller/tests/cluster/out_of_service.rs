//! The out-of-service taint is the release: what kube-controller-manager does with the pods of a node that carries it, on its
//! own and past every guard of ours. Each case sets the taint as the controller does, with the controller's rights.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use nodewell_reconcile::{
    api_error::ApiError,
    cluster::{Marks, Nodes, Pods},
};
use nodewell_remediation::{
    api::{OUT_OF_SERVICE, OUT_OF_SERVICE_BY},
    facts::{Effect, Taint},
};
use serde_json::json;

use crate::{
    cases::cases,
    server::Server,
    workload::{Seen, StandIn, Story, made, make_daemon, make_guarded_set, pods_of, wait_for_budget},
};

cases![
    pods_of_a_dead_node_are_forced_away_past_their_budget,
    pods_of_a_ready_node_are_asked_to_end_and_never_forced,
    what_tolerates_the_taint_stays_and_a_daemon_goes,
    a_taint_without_effect_on_pods_forces_away_what_is_ending,
];

/// The pod garbage collector looks every 20 s (`gcCheckPeriod`); on a loaded machine it takes some more.
const FORCED_WITHIN: Duration = Duration::from_secs(20 + 10);
/// Taint eviction waits for nothing; on a loaded machine it takes some more.
const ASKED_WITHIN: Duration = Duration::from_secs(5);

fn out_of_service(effect: Effect) -> Taint {
    Taint { key: OUT_OF_SERVICE.into(), value: OUT_OF_SERVICE_BY.into(), effect }
}

/// The moment before the taint.
async fn release(server: &Server, node: &StandIn, effect: Effect) -> Instant {
    let before = Instant::now();
    let cluster = server.cluster("controller").await;
    assert_eq!(cluster.taint(&node.name, &node.uid, &out_of_service(effect)).await, Ok(true));
    before
}

/// Prints how long after `since` that was.
fn measured(what: &str, since: Instant, seen: &Seen) -> Duration {
    let after = seen.at.duration_since(since);
    eprintln!("    {what} after {:.2} s", after.as_secs_f64());
    after
}

async fn is_there(server: &Server, pod: &nodewell_remediation::facts::PodRef) -> bool {
    server.cluster("controller").await.pod(pod).await.unwrap().is_some()
}

async fn pods_of_a_dead_node_are_forced_away_past_their_budget(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let mut node = StandIn::start(&server, "oos-dead").await;
    let pod = node.take(&make_guarded_set(&server, "ledger").await).await;
    wait_for_budget(&server, "ledger").await;
    node.die().await;
    let refused = cluster.evict(&pod, None).await;
    assert!(matches!(refused, Err(ApiError::EvictionRefused { .. })), "the budget guards nothing: {refused:?}");
    let story = Story::of(&server, &node.name).await;
    let tainted = release(&server, &node, Effect::NoExecute).await;
    let ending = story.until_ending(&pod).await;
    assert_eq!(ending.disruption().as_deref(), Some("DeletionByTaintManager"));
    assert!(measured("asked to end past its budget", tainted, &ending) < ASKED_WITHIN);
    let gone = story.until_gone(&pod).await;
    assert!(measured("forced away, 600 s of grace left", tainted, &gone) < FORCED_WITHIN);
    // This is what the release is for, and why it must be true that the node is off.
    let next = made(&server, "ledger", Some(&pod)).await;
    eprintln!("    its StatefulSet made the next {:.2} s after the taint", tainted.elapsed().as_secs_f64());
    assert_eq!(next["metadata"]["name"], json!(pod.name), "two of one name are two writers");
    // Too late: what the pods of the node were is answered no more.
    assert_eq!(cluster.delete_pod(&pod, Some(Duration::ZERO)).await, Err(ApiError::NotFound));
    leave(&server, &["statefulset/ledger", "poddisruptionbudget/ledger"], &[&node]);
}

async fn pods_of_a_ready_node_are_asked_to_end_and_never_forced(server: Arc<Server>) {
    let mut live = StandIn::start(&server, "oos-live").await;
    let mut witness = StandIn::start(&server, "oos-witness").await;
    let (pod, other) = (live.run_pod("on-live", json!({})).await, witness.run_pod("on-witness", json!({})).await);
    witness.die().await;
    let (story, witnessed) = (Story::of(&server, &live.name).await, Story::of(&server, &witness.name).await);
    let tainted = release(&server, &live, Effect::NoExecute).await;
    let ending = story.until_ending(&pod).await;
    assert!(measured("asked to end on a Ready node", tainted, &ending) < ASKED_WITHIN);
    // The collector that takes this one has looked at the other, which was ending by then.
    release(&server, &witness, Effect::NoExecute).await;
    witnessed.until_gone(&other).await;
    assert!(is_there(&server, &pod).await, "it was forced away from a node that is Ready");
    let cluster = server.cluster("controller").await;
    assert!(cluster.node(&live.name).await.unwrap().unwrap().is_ready());
    eprintln!(
        "    still there {:.2} s after the taint, and a pod of a node not Ready is not",
        tainted.elapsed().as_secs_f64()
    );
    // Ready was all that stood between the taint and the force.
    live.die().await;
    let died = Instant::now();
    let gone = story.until_gone(&pod).await;
    assert!(measured("forced away once Ready is Unknown,", died, &gone) < FORCED_WITHIN);
    leave(&server, &[], &[&live, &witness]);
}

async fn what_tolerates_the_taint_stays_and_a_daemon_goes(server: Arc<Server>) {
    let mut node = StandIn::start(&server, "oos-tolerated").await;
    let tolerating = json!({ "tolerations": [{ "key": OUT_OF_SERVICE, "operator": "Exists", "effect": "NoExecute" }] });
    let stays = node.run_pod("tolerates", tolerating).await;
    let everything = node.run_pod("tolerates-everything", json!({ "tolerations": [{ "operator": "Exists" }] })).await;
    let daemon = make_daemon(&server, "watcher", &node.name).await;
    let tolerated: Vec<&str> =
        daemon["spec"]["tolerations"].as_array().unwrap().iter().filter_map(|one| one["key"].as_str()).collect();
    eprintln!("    a DaemonSet's pod tolerates {}", tolerated.join(", "));
    assert!(!tolerated.contains(&OUT_OF_SERVICE));
    let daemon = node.take(&daemon).await;
    node.die().await;
    let story = Story::of(&server, &node.name).await;
    let tainted = release(&server, &node, Effect::NoExecute).await;
    let gone = story.until_gone(&daemon).await;
    assert!(measured("a DaemonSet's pod is gone", tainted, &gone) < FORCED_WITHIN);
    // The collector has looked at all of them, and taint eviction long before.
    for pod in [&stays, &everything] {
        assert!(is_there(&server, pod).await && story.ending(pod).is_none(), "{} tolerates it", pod.name);
    }
    assert!(pods_of(&server, "watcher").await.is_empty(), "it is made again while the taint is there");
    leave(&server, &["daemonset/watcher"], &[&node]);
}

/// The collector asks for the taint's key alone. So no effect of this key is harmless on a node that is not Ready.
async fn a_taint_without_effect_on_pods_forces_away_what_is_ending(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let mut node = StandIn::start(&server, "oos-no-schedule").await;
    let (ends, runs) = (node.run_pod("ends", json!({})).await, node.run_pod("runs", json!({})).await);
    cluster.delete_pod(&ends, None).await.unwrap();
    node.die().await;
    let story = Story::of(&server, &node.name).await;
    let tainted = release(&server, &node, Effect::NoSchedule).await;
    let gone = story.until_gone(&ends).await;
    assert!(measured("forced away by a NoSchedule taint", tainted, &gone) < FORCED_WITHIN);
    assert!(is_there(&server, &runs).await && story.ending(&runs).is_none(), "no client asked it to end");
    leave(&server, &[], &[&node]);
}

/// Other cases count nodes that are not well.
pub(crate) fn leave(server: &Server, objects: &[&str], nodes: &[&StandIn]) {
    for object in objects {
        assert!(server.kubectl(&["delete", object]));
    }
    for node in nodes {
        assert!(server.kubectl(&["delete", "node", &node.name]));
        assert!(server.kubectl(&[
            "delete",
            "pods",
            "--force",
            "--field-selector",
            &format!("spec.nodeName={}", node.name)
        ]));
    }
}
