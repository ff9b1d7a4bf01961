//! Nothing happens.

use std::time::Duration;

use tokio::time::sleep;

use super::{report, whole, wrongs};
use crate::{
    cluster::Cluster,
    report::{Fact, Report},
};

/// KEP-589's economy: a heartbeat in five minutes.
const NODE_WRITES_AN_HOUR: f64 = 12.0;

/// Looks on for `window`; `name` describes what was before.
pub async fn idle(cluster: &Cluster, name: &str, window: Duration) -> Report {
    let from = cluster.next_second().await;
    let etcd = cluster.etcd().await;
    sleep(window).await;
    let mut report = report(cluster, name, from, from + window);
    let hours = window.as_secs_f64() / 3600.0 * super::count(cluster.size());
    let writes = whole(report.figures.requests("patch-node-status")) / hours;
    report.facts.push(Fact::new("Node writes of one node in an hour", writes, "").at_most(NODE_WRITES_AN_HOUR));
    report.facts.push(Fact::new("reads", whole(report.figures.requests("read")), "").at_most(0.0));
    if let (Some(before), Some(after)) = (etcd, cluster.etcd().await) {
        report.facts.extend(after.since(before));
    }
    report.facts.extend(wrongs(cluster).await);
    report
}
