//! One look at everything that a decision needs. Ages are those that the API server reports, by other hosts' clocks:
//! good enough to show, never to act on.

use std::{
    io::{self, Write},
    path::Path,
    time::Duration,
};

use jiff::Timestamp;
use k8s_openapi::api::{coordination::v1::Lease, core::v1 as core};
use nodewell_reaper::Reaper;
use nodewell_reconcile::{cache::NodeEvents, cluster::Configuration};
use nodewell_remediation::{
    api::{GROUP, VERSION, fence::NodeFence},
    facts::{LeaseView, Node},
    policy::Policy,
    snapshot::{HostView, PeerLeases, Snapshot},
    time::{Moment, Now},
};
use serde_json::Value;

use super::CommandError;
use crate::{
    config::Config,
    daemon,
    kube::{
        KUBELET_LEASES, KubeCluster,
        claims::{self, Read},
        convert,
        ended::is_ended,
    },
    watch::NODE_EVENTS,
};

/// The same present on a clock that began earlier.
pub(super) fn later(now: Now, span: Duration) -> Now {
    Now { moment: now.moment.plus(span), ..now }
}

pub(super) async fn snapshot(cluster: &KubeCluster, config: &Config, now: Now) -> Result<Snapshot, CommandError> {
    let wire = cluster.wire();
    let mut snapshot = Snapshot {
        host: HostView { node: config.node_name.clone(), synced: true, ..HostView::default() },
        stopped: cluster.stopped().await.map_err(CommandError::of("the kill switch"))?,
        ..Snapshot::default()
    };
    let nodes: Vec<core::Node> = wire.list("/api/v1/nodes", "").await.map_err(CommandError::of("nodes"))?;
    let nodes = nodes.into_iter().filter_map(|raw| convert::node(raw, now.moment).ok());
    snapshot.nodes = nodes.map(|node| (node.name.clone(), aged(node, now))).collect();
    snapshot.kubelet_leases = leases(cluster, KUBELET_LEASES, now).await?;
    snapshot.agent_leases = leases(cluster, &config.namespace, now).await?;
    let own = |plural: &str| format!("/apis/{GROUP}/{VERSION}/{plural}");
    let fences: Vec<Value> = wire.list(&own("nodefences"), "").await.map_err(CommandError::of("NodeFences"))?;
    snapshot.fences = fences.into_iter().filter(|raw| !is_ended(raw)).map(fence).collect::<Result<_, _>>()?;
    let policies: Vec<Value> =
        wire.list(&own("remediationpolicies"), "").await.map_err(CommandError::of("RemediationPolicies"))?;
    policies.into_iter().for_each(|raw| add_policy(&mut snapshot, raw));
    if let Some(namespace) = &config.claims_namespace {
        snapshot.peer_leases = claims(cluster, namespace, now).await?;
    }
    if snapshot.policies.iter().any(|policy| policy.when.source().contains("event")) {
        add_events(cluster, &mut snapshot, now).await?;
    }
    Ok(snapshot)
}

/// What other controllers remediate. A caller of a plan may see less than the controller: then it is reported.
async fn claims(cluster: &KubeCluster, namespace: &str, now: Now) -> Result<PeerLeases, CommandError> {
    match claims::read(cluster.wire(), namespace).await {
        Read::Listed(leases) => Ok(leases.claims(namespace, now.wall)),
        Read::NoNamespace => Ok(PeerLeases::default()),
        Read::Closed(error) => {
            Ok(PeerLeases { unreadable: Some(daemon::claims::closed(namespace, &error)), ..PeerLeases::default() })
        }
        Read::Unknown(error @ nodewell_reconcile::api_error::ApiError::Refused { code: 403, .. }) => {
            let _ = writeln!(io::stderr(), "nodewell-controller: {}", daemon::claims::unseen(namespace, &error));
            Ok(PeerLeases::default())
        }
        Read::Unknown(error) => Err(CommandError::of("the Leases of other remediators")(error)),
    }
}

/// Adds the policy of node-reaper's file; what speaks against the file in this cluster.
pub(super) fn add_reaper(snapshot: &mut Snapshot, file: &Path, now: Now) -> Result<Vec<String>, CommandError> {
    let read = nodewell_reaper::read(file).map_err(CommandError::Diagnostics)?;
    // Which plug-ins there are is the controller's to know, not that of a plan's caller.
    let reaper = Reaper::new(read.config, true).map_err(CommandError::Diagnostics)?;
    let refusals = reaper.look(snapshot, now);
    reaper.put(snapshot);
    Ok(refusals)
}

async fn add_events(cluster: &KubeCluster, snapshot: &mut Snapshot, now: Now) -> Result<(), CommandError> {
    let raw: Vec<core::Event> = cluster.wire().list(NODE_EVENTS, "").await.map_err(CommandError::of("Events"))?;
    let mut all = NodeEvents::default();
    raw.into_iter().filter_map(|raw| convert::event(raw, now.wall)).for_each(|event| all.apply(event, true, now));
    let shown = snapshot.nodes.values().map(|node| (node.name.clone(), all.of(node)));
    snapshot.events = shown.filter(|(_, events)| !events.is_empty()).collect();
    Ok(())
}

async fn leases(
    cluster: &KubeCluster,
    namespace: &str,
    now: Now,
) -> Result<std::collections::BTreeMap<String, LeaseView>, CommandError> {
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases");
    let leases: Vec<Lease> = cluster.wire().list(&path, "").await.map_err(CommandError::of(&path))?;
    let named = leases.into_iter().filter_map(|raw| Some((raw.metadata.name.clone()?, raw)));
    Ok(named.map(|(name, raw)| (name, aged_lease(convert::lease_view(raw, now.moment), now))).collect())
}

fn fence(raw: Value) -> Result<(String, NodeFence), CommandError> {
    let name = raw["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let unreadable = |error| CommandError::Message(format!("NodeFence {name}: cannot be read: {error}"));
    let fence: NodeFence = serde_json::from_value(raw).map_err(unreadable)?;
    Ok((name, fence))
}

fn add_policy(snapshot: &mut Snapshot, raw: Value) {
    let name = raw["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    match Policy::of_json(&raw) {
        Ok(policy) => snapshot.policies.push(policy),
        Err(errors) => {
            let problem = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            snapshot.unreadable_policies.insert(name, problem);
        }
    }
}

fn aged(mut node: Node, now: Now) -> Node {
    for condition in &mut node.conditions {
        condition.change_seen_at = condition.since.map_or(now.moment, |since| at(since, now));
    }
    node
}

fn aged_lease(lease: LeaseView, now: Now) -> LeaseView {
    let seen = lease.renewed.map_or(now.moment, |renewed| at(renewed, now));
    LeaseView { change_seen_at: seen, ..lease }
}

/// A time of the API server on our own clock; the future is the present.
pub(super) fn at(time: Timestamp, now: Now) -> Moment {
    let ago = Duration::try_from(now.wall.duration_since(time)).unwrap_or_default();
    Moment(now.moment.0.saturating_sub(ago))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_those_of_the_api_server() {
        let now = Now { moment: Moment(Duration::from_secs(1000)), wall: "2026-01-01T01:00:00Z".parse().unwrap() };
        let before = |text: &str| now.moment.since(at(text.parse().unwrap(), now)).as_secs();
        assert_eq!(before("2026-01-01T00:59:00Z"), 60);
        assert_eq!(before("2026-01-01T02:00:00Z"), 0);
    }
}
