//! Services that are stopped or killed: none of it costs a node its power.

use std::time::Duration;

use jiff::Timestamp;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::{OVER, SOON, worker};
use crate::{
    cluster::Cluster,
    identity::LEASES,
    soak::trial::{Miss, Trial},
};

/// The kubelet reports it half a minute after containerd has answered last.
const NOT_READY: Duration = Duration::from_secs(150);
/// What the kubelet said of the runtime is over after five minutes without it, and 30 s later where it ended twice.
const QUIET: Duration = Duration::from_secs(420);
/// systemd starts a controller 5 s after its end; the Lease of one that was killed lasts for 15 s.
const LED: Duration = Duration::from_secs(60);
const CONTROLLER: &str = "nodewell-controller.service";

/// Its kubelet speaks: the node is cordoned, and keeps its power.
pub(super) fn runtime_stopped(cluster: &Cluster, trial: &mut Trial<'_>) -> Result<(), Miss> {
    let inside = worker(cluster, trial)?.inside();
    inside.sh("systemctl stop containerd");
    trial.planted();
    let node = trial.node.clone();
    let found = trial.wait(NOT_READY, "the node that is not Ready is cordoned", || {
        let object = cluster.api().node(&node)?;
        let is_ready = cluster.api().condition(&node, "Ready")? == "True";
        (!is_ready && object["spec"]["unschedulable"] == true).then(|| cluster.api().record(&node).map(drop))?
    });
    if found.is_ok() {
        trial.found("record");
    }
    let lasted = found.and_then(|()| trial.last());
    inside.sh("systemctl start containerd");
    lasted?;
    trial.over(cluster, QUIET)
}

/// systemd starts it again, and it goes on with what it knew.
pub(super) fn agent_killed(cluster: &Cluster, trial: &mut Trial<'_>) -> Result<(), Miss> {
    let inside = worker(cluster, trial)?.inside();
    let killed = inside.main_pid("nodewell.service").ok_or_else(|| "no agent runs".to_owned())?;
    kill_process(killed)?;
    trial.planted();
    let killed_at = Timestamp::now();
    trial.wait(SOON, "another agent answers", || {
        inside.main_pid("nodewell.service").filter(|pid| *pid != killed)?;
        inside.conditions().map(drop)
    })?;
    trial.found("socket");
    let lease = format!("{LEASES}/{}", trial.node);
    trial.wait(SOON * 3, "it renews its Lease", || {
        let renewed = cluster.api().get(&lease)?["spec"]["renewTime"].as_str()?.parse::<Timestamp>().ok()?;
        (renewed > killed_at).then_some(())
    })?;
    trial.over(cluster, OVER)
}

/// Another one leads, or the same host's next process.
pub(super) fn leader_killed(cluster: &Cluster, trial: &mut Trial<'_>) -> Result<(), Miss> {
    let leader = trial.wait(SOON, "one leads", || cluster.leader())?;
    leader.name().clone_into(&mut trial.node);
    let term = term(cluster);
    let killed = leader.inside().main_pid(CONTROLLER).ok_or_else(|| "the leader does not run".to_owned())?;
    kill_process(killed)?;
    trial.planted();
    trial.wait(LED, "another term has begun", || {
        let now = self::term(cluster)?;
        (Some(&now) != term.as_ref()).then_some(())
    })?;
    trial.found("Lease");
    cluster.controllers().iter().for_each(|host| host.wait_until_ready());
    trial.over(cluster, OVER)
}

/// Who leads, and since when.
fn term(cluster: &Cluster) -> Option<[String; 3]> {
    let lead = cluster.lead()?;
    let spec = &lead["spec"];
    // A Lease that was released has no holder.
    spec["holderIdentity"].as_str().filter(|holder| !holder.is_empty())?;
    Some(["holderIdentity", "acquireTime", "leaseTransitions"].map(|key| spec[key].to_string()))
}

fn kill_process(pid: u32) -> Result<(), Miss> {
    kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL)
        .map_err(|error| Miss::Missed(format!("kill {pid}: {error}")))
}
