//! What the drain of a node that is under remediation waits for: read for that node alone.

use nodewell_reconcile::cluster::Pods;
use nodewell_remediation::{drain::awaited, fence::drain_at_hand, snapshot::Snapshot, time::Now};

use crate::kube::KubeCluster;

/// Each pod's budgets are a question of its own; a longer list would not be read.
const MOST: usize = 10;

/// Nothing if it is not being drained; what cannot be read is a line as well.
pub(super) async fn of(cluster: &KubeCluster, snapshot: &Snapshot, node: &str, now: Now) -> Vec<String> {
    let Some(rules) = snapshot.fences.get(node).and_then(drain_at_hand) else { return Vec::new() };
    let pods = match cluster.pods_on(node).await {
        Ok(pods) => pods,
        Err(error) => return vec![format!("its pods cannot be read: {error}")],
    };
    let awaited = awaited(&rules, &pods, now);
    let mut lines = Vec::new();
    for one in awaited.iter().take(MOST) {
        let budgets = if one.asks { cluster.budgets_of(one.pod).await } else { Ok(Vec::new()) };
        lines.push(match budgets {
            Ok(budgets) => one.line(&budgets),
            Err(error) => format!("{}; its budgets cannot be read: {error}", one.line(&[])),
        });
    }
    let more = awaited.len().saturating_sub(MOST);
    lines.extend((more > 0).then(|| format!("and {more} more")));
    lines
}
