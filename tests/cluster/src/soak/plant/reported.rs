//! A fault that a service of a worker reports over the agent's socket. No policy is about it: a condition and no act.

use std::time::Duration;

use super::{OVER, SOON, worker};
use crate::{
    cluster::Cluster,
    soak::trial::{Miss, Trial},
    worker::Worker,
};

const CONDITION: &str = "DiskUnhealthy";
const SUBJECT: &str = "soak0";
/// A problem is over when the service that reported it reports so.
const UNIT: &str = "soak-monitor";

pub(super) fn reported(cluster: &Cluster, trial: &mut Trial<'_>) -> Result<(), Miss> {
    let worker = worker(cluster, trial)?;
    begins(worker)?;
    trial.planted();
    let lasted = found(cluster, trial, SOON).and_then(|()| trial.last());
    ends(worker)?;
    lasted?;
    trial.over(cluster, OVER)
}

pub(super) fn found(cluster: &Cluster, trial: &mut Trial<'_>, limit: Duration) -> Result<(), Miss> {
    let node = trial.node.clone();
    trial.wait(limit, "the condition is on the Node", || {
        cluster.api().true_message(&node, CONDITION).filter(|message| message.contains(SUBJECT)).map(drop)
    })?;
    trial.found("condition");
    Ok(())
}

pub(super) fn begins(worker: &Worker) -> Result<(), Miss> {
    report(worker, "true", "RaidDegraded", "1 of 2 disks is gone")
}

pub(super) fn ends(worker: &Worker) -> Result<(), Miss> {
    report(worker, "false", "RaidIsHealthy", "all disks are back")
}

fn report(worker: &Worker, status: &str, reason: &str, message: &str) -> Result<(), Miss> {
    let script = format!(
        "nodewell report --condition {CONDITION}={status} --reason {reason} --subject {SUBJECT} --message '{message}'"
    );
    let reported = worker.inside().as_unit(UNIT, &[], &script);
    if reported.code == 0 { Ok(()) } else { Err(format!("{}: {}", worker.name(), reported.stderr).into()) }
}
