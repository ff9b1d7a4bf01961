//! Requests of other remediators (`NodeFenceRemediation`): the leader serves them, from this cluster and from the management
//! cluster of Cluster API. What is to be done for one is decided in [`nodewell_remediation::external`]; here it is read,
//! written and asked for, a request at a time.
//!
//! Rights beyond the controller's own: `rbac-external-remediation.yaml`, and `rbac-cluster-api.yaml` in the management
//! cluster.

mod customers;
mod round;
mod served;
mod sources;
mod store;
mod target;

use std::{collections::BTreeMap, time::Duration};

use futures_util::future::join_all;
use nodewell_reconcile::{cache::Cache, executor, leader::Term};
use tokio::time::sleep;

use crate::{kube::KubeCluster, tally::Tally};
pub(crate) use sources::{Sources, sources};

/// A request is taken up, and what it shows is this old at most.
const APART: Duration = Duration::from_secs(2);
/// Where a source cannot be read: its kind is not there, or its API server does not answer.
const SELDOM: Duration = Duration::from_secs(30);

/// While `term` is ours, and in no dry run, which writes nothing; never returns.
pub(crate) async fn look_after(
    cluster: &KubeCluster,
    sources: Option<&Sources>,
    cache: &Cache,
    term: Term,
    settings: &executor::Settings,
    tally: &Tally,
) {
    let Some(sources) = sources.filter(|_| !settings.dry_run) else {
        if sources.is_some() {
            tracing::info!("requests of other remediators are not served in a dry run");
        }
        return std::future::pending().await;
    };
    let served = served::AllServed::default();
    let each = sources.enabled().map(async |source| {
        let mut rounds =
            round::Rounds::new(cluster, sources, source, &served, cache, term.clone(), settings.audit.clone());
        loop {
            let is_read = rounds.serve().await;
            cache.set_customers(if rounds.leads() { served.customers() } else { BTreeMap::new() });
            tally.fence_requests(served.counts());
            sleep(if is_read { APART } else { SELDOM }).await;
        }
    });
    join_all(each).await;
}
