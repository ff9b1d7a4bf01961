//! All agents start: in the same second, as after a roll-out, or one after the other.

use std::time::Duration;

use tokio::time::sleep;

use super::{PATIENCE, delays, report, wrongs};
use crate::{cluster::Cluster, report::Report};

/// Starts every exporter, evenly over `over`, and waits until the server shows what each knows.
pub async fn start(cluster: &mut Cluster, over: Duration) -> Report {
    let from = cluster.next_second().await;
    let all_nodes = cluster.all();
    let pause = over / u32::try_from(cluster.size()).unwrap_or(u32::MAX).max(1);
    for _ in &all_nodes {
        cluster.start_next();
        if !pause.is_zero() {
            sleep(pause).await;
        }
    }
    cluster.until(PATIENCE, |cluster| cluster.truth.all_right_at(&all_nodes).is_some()).await;
    let to = cluster.next_second().await;
    let mut report = report(cluster, format!("start within {} s", over.as_secs()), from, to);
    report.facts.extend(delays("every condition right after", &cluster.truth.right_at(&all_nodes), from));
    report.facts.extend(wrongs(cluster).await);
    report
}
