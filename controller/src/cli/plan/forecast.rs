//! What would become of one node and its pods if it failed now: read for that node alone, and shown beside the plan.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1 as core;
use nodewell_forecast::{FencingLevel, ForecastSettings, NodeForecast, ZoneCounts, forecast, render};
use nodewell_reconcile::{cluster::Pods, power::Power};
use nodewell_remediation::{
    api::fence::Blocker,
    facts::Node,
    guard::reason::FENCE_NOT_READY,
    node_report::is_dead,
    snapshot::{FencePlan, Snapshot},
    time::Now,
};
use serde_json::Value;

use super::super::look::one_line;
use super::remediation::remediation;
use crate::{
    config::Config,
    daemon::{self, readiness},
    kube::{KubeCluster, Wire},
};

/// BMCs are asked who they are; one takes a few seconds.
const FENCING: Duration = Duration::from_secs(30);
/// kubeadm, kops, RKE2 and others label its static pods so.
const CONTROLLER_MANAGER: &str = "component=kube-controller-manager";

/// As it is now; an error names what cannot be read.
pub(super) async fn of(
    cluster: &Arc<KubeCluster>,
    config: &Config,
    snapshot: &Snapshot,
    node: &Node,
    dry_run: bool,
    now: Now,
) -> Result<NodeForecast, String> {
    let pods = cluster.pods_and_claims_on(&node.name).await.map_err(|error| format!("its pods: {error}"))?;
    let settings = settings(cluster.wire()).await;
    let plan = fencing(cluster, config, snapshot, node).await;
    let as_configured = Snapshot { dry_run, ..snapshot.clone() };
    let remediation = remediation(&as_configured, &node.name, &plan, now);
    let zone_counts = ZoneCounts::of(&node.name, snapshot);
    let failed_for = is_dead(snapshot, node, now.moment).then(|| silence(snapshot, node, now));
    let fencing = plan.as_ref().map(FencingLevel::all).unwrap_or_default();
    Ok(NodeForecast {
        failed_for,
        fencing,
        ..forecast(&node.name, &pods, settings, &zone_counts, remediation.as_ref())
    })
}

/// The last sign of life is the best that is known of its failure.
fn silence(snapshot: &Snapshot, node: &Node, now: Now) -> Duration {
    snapshot.kubelet_leases.get(&node.name).map(|lease| lease.stale_for(now.moment)).unwrap_or_default()
}

/// As this host would fence it, and asking its BMC which machine it is.
async fn fencing(
    cluster: &Arc<KubeCluster>,
    config: &Config,
    snapshot: &Snapshot,
    node: &Node,
) -> Result<FencePlan, Blocker> {
    let not_ready = |fatal| Blocker::of(FENCE_NOT_READY, &[("error", &fatal)]);
    let power = daemon::power(config, cluster).map_err(not_ready)?.of_a_command();
    let late = |_| Err(Blocker::of("FenceNotReady/late", &[("limit", &FENCING.as_secs())]));
    let plan = async {
        power.survey(power.unread(snapshot.nodes.values())).await;
        power.plan(node).await
    };
    let plan = tokio::time::timeout(FENCING, plan).await.unwrap_or_else(late);
    if power.is_refused(&node.name) {
        // The controller that leads counts this login too, if who asks may write it.
        drop(readiness::write(cluster, node, &power.preflight(node).await).await);
    }
    plan
}

/// The cluster's own, as far as they can be seen.
async fn settings(wire: &Wire) -> ForecastSettings {
    let version: Option<Value> = wire.plain("/version", None).await.ok();
    let minor = version.as_ref().and_then(minor);
    let query = format!("&labelSelector={}", crate::kube::escaped(CONTROLLER_MANAGER));
    let pods: Vec<core::Pod> = wire.list("/api/v1/namespaces/kube-system/pods", &query).await.unwrap_or_default();
    match pods.iter().map(args).find(|args| !args.is_empty()) {
        Some(args) => ForecastSettings::from_args(&args, minor),
        None => ForecastSettings::defaults(minor),
    }
}

/// `36`, or `36+` of a provider.
fn minor(version: &Value) -> Option<u32> {
    let digits = version["minor"].as_str()?;
    digits[..digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())].parse().ok()
}

fn args(pod: &core::Pod) -> Vec<String> {
    let containers = pod.spec.as_ref().map(|spec| spec.containers.as_slice()).unwrap_or_default();
    let one = containers.iter().find(|one| one.name == "kube-controller-manager").or(containers.first());
    one.into_iter().flat_map(|one| [&one.command, &one.args]).flatten().flatten().cloned().collect()
}

/// Lines for a terminal of this width.
pub(super) fn shown(forecast: &Result<NodeForecast, String>, width: usize) -> String {
    let lines = match forecast {
        Ok(forecast) => render(forecast, width),
        Err(why) => vec![format!("what would become of it if it failed is not known: {why}")],
    };
    lines.iter().map(|line| one_line(line) + "\n").collect()
}

/// Data, or why there is none.
pub(super) fn as_json(forecast: &Result<NodeForecast, String>) -> Value {
    match forecast {
        Ok(forecast) => serde_json::to_value(forecast).unwrap_or_default(),
        Err(why) => serde_json::json!({ "error": why }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_minor_version_may_have_a_plus() {
        let read = |word: &str| minor(&json!({ "major": "1", "minor": word }));
        assert_eq!((read("36"), read("31+"), read(""), read("x")), (Some(36), Some(31), None, None));
        assert_eq!(minor(&Value::Null), None);
    }

    #[test]
    fn flags_are_those_of_the_managers_own_container() {
        let pod: core::Pod = serde_json::from_value(json!({ "spec": { "containers": [
            { "name": "proxy", "args": ["--v=9"] },
            { "name": "kube-controller-manager", "command": ["kube-controller-manager"],
              "args": ["--node-monitor-grace-period=20s"] },
        ] } }))
        .unwrap();
        let settings = ForecastSettings::from_args(&args(&pod), None);
        assert_eq!(settings.monitor_grace, Duration::from_secs(20));
        assert!(args(&core::Pod::default()).is_empty());
    }
}
