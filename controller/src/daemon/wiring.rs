//! Which node hangs on which plug has to be known of all nodes before one is turned off: every replica reads it from
//! the start, leader or not.

use std::{convert::Infallible, time::Duration};

use nodewell_power::native::NativePower;
use nodewell_reconcile::cache::Cache;
use tokio::time::sleep;

use crate::kube::KubeCluster;

/// Between two looks for nodes that are new.
const TICK: Duration = Duration::from_secs(1);

/// Reads the ConfigMaps of every node once, and now and then again; never returns.
pub(super) async fn survey(power: &NativePower<KubeCluster>, cache: &Cache) -> Infallible {
    loop {
        // A controller without a synced cache does not know which nodes there are, and turns none off.
        let unread = cache.with(|snapshot| snapshot.host.synced.then(|| power.unread(snapshot.nodes.values())));
        power.survey(unread.unwrap_or_default()).await;
        sleep(TICK).await;
    }
}
