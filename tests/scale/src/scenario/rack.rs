//! A rack fails: many nodes have a condition and Events in the same second; later it is mended.

use std::time::Duration;

use tokio::time::sleep;

use super::{CONDITION, PATIENCE, delays, report, wrongs};
use crate::{cluster::Cluster, fleet::broken, report::Report};

/// What is looked at after the failure.
const WINDOW: Duration = Duration::from_secs(60);
/// The disks of a node that fail, each an Event of its own.
const DISKS: [&str; 3] = ["sda", "sdb", "sdc"];

/// The first `size` nodes fail.
pub async fn rack(cluster: &mut Cluster, size: usize) -> Report {
    let failing: Vec<usize> = (0..size.min(cluster.size())).collect();
    let from = cluster.next_second().await;
    for &node in &failing {
        cluster.report(node, broken(&cluster.healthy, CONDITION, cluster.clock.wall()));
        DISKS.iter().for_each(|disk| cluster.happen(node, "IOError", disk));
    }
    cluster.until(PATIENCE, |cluster| cluster.truth.all_right_at(&failing).is_some()).await;
    let right = delays("every condition right after", &cluster.truth.right_at(&failing), from);
    let delivered = cluster.delivered(&failing, PATIENCE).await;
    sleep((from + WINDOW).saturating_sub(cluster.now())).await;
    let mut report = report(cluster, format!("{} nodes fail in the same second", failing.len()), from, from + WINDOW);
    report.facts.extend(right);
    report.facts.push(crate::report::Fact::new("every Event there after", delivered - from.as_secs_f64(), "s"));
    report.facts.extend(mend(cluster, &failing).await);
    report.facts.extend(wrongs(cluster).await);
    report
}

/// They are well again; a recovery is held back for a while before the agent reports it on the Node.
pub(super) async fn mend(cluster: &Cluster, nodes: &[usize]) -> [crate::report::Fact; 2] {
    let from = cluster.now();
    for &node in nodes {
        cluster.report(node, cluster.healthy.clone());
    }
    cluster.until(PATIENCE, |cluster| cluster.truth.all_right_at(nodes).is_some()).await;
    delays("mended, every condition right after", &cluster.truth.right_at(nodes), from)
}
