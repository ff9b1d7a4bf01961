//! How each fault is planted, what has to come of it, and how it is mended.

mod api_server;
mod disk;
mod fence;
mod reported;
mod services;
mod shutdown;

use std::time::Duration;

use super::{
    fault::Fault,
    trial::{Miss, Trial},
};
use crate::{
    cluster::Cluster,
    worker::{Order, Worker},
};

/// What takes seconds on two cores that have nothing else to do.
const SOON: Duration = Duration::from_secs(60);
/// A machine boots, its checks look, its node is given back.
const OVER: Duration = Duration::from_secs(300);

/// Until the cluster is as before.
pub(super) fn plant(cluster: &mut Cluster, trial: &mut Trial<'_>) -> Result<(), Miss> {
    match trial.choice.fault {
        Fault::PlugPulled => fence::plug_pulled(cluster, trial),
        Fault::CablePulled => fence::cable_pulled(cluster, trial),
        Fault::KubeletStopped => fence::kubelet_stopped(cluster, trial),
        Fault::RuntimeStopped => services::runtime_stopped(cluster, trial),
        Fault::AgentKilled => services::agent_killed(cluster, trial),
        Fault::LeaderKilled => services::leader_killed(cluster, trial),
        Fault::DiskFailed => disk::failed(cluster, trial),
        Fault::Reported => reported::reported(cluster, trial),
        Fault::ApiServerAway => api_server::away(cluster, trial),
        Fault::OrderlyReboot => shutdown::orderly(cluster, trial),
    }
}

fn worker<'a>(cluster: &'a Cluster, trial: &Trial<'_>) -> Result<&'a Worker, Miss> {
    let worker = cluster.worker(&trial.node).filter(|worker| worker.is_on());
    worker.ok_or_else(|| Miss::Missed(format!("{} is off before anything is planted", trial.node)))
}

/// When it was ordered so first, of the orders that came after the first `known`.
fn ordered<'a>(orders: &'a [Order], known: usize, text: &str) -> Option<&'a Order> {
    orders.iter().skip(known).find(|order| order.text == text)
}
