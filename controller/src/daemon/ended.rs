//! Deletes what is left of records that ended, when it has been kept for long enough.

use std::{convert::Infallible, time::Duration};

use nodewell_reconcile::leader::Term;
use tokio::time::sleep;

use crate::kube::{KubeCluster, ended};

const APART: Duration = Duration::from_secs(600);

/// While `term` is ours; never returns.
pub(super) async fn look_after(cluster: &KubeCluster, term: Term, keep: Duration) -> Infallible {
    let clock = cluster.clock();
    loop {
        if term.borrow().as_ref().is_some_and(|lease_deadline| lease_deadline.is_ahead(clock.moment())) {
            match ended::clear(cluster.wire(), keep, clock.wall()).await {
                Ok(0) => {}
                Ok(count) => tracing::info!(count, "records that ended were deleted"),
                Err(error) => tracing::warn!(%error, "records that ended cannot be deleted; tried again"),
            }
        }
        sleep(APART).await;
    }
}
