//! A filesystem of the worker that reads the kernel's log: the kernel cuts it off, the node is drained, and given back
//! once it is unmounted.

use std::time::Duration;

use super::{OVER, SOON, worker};
use crate::{
    cluster::Cluster,
    soak::trial::{Miss, Trial},
    worker::{Ext4, Report},
};

const CONDITION: &str = "ReadonlyFilesystem";
const MOUNTED: &str = "/srv";
const DRAINED: Duration = Duration::from_secs(120);

pub(super) fn failed(cluster: &Cluster, trial: &mut Trial<'_>) -> Result<(), Miss> {
    let disk = worker(cluster, trial)?.ext4();
    // An older fault of another disk of that name may be in the kernel's log.
    trial.wait(SOON, "nothing is known of the disk", || (disk.report(CONDITION)? == Report::NoFault).then_some(()))?;
    disk.mount(MOUNTED);
    disk.fail();
    trial.planted();
    let drained = found_and_drained(cluster, trial, &disk).and_then(|()| trial.last());
    disk.unmount(MOUNTED);
    drained?;
    trial.over(cluster, OVER)
}

fn found_and_drained(cluster: &Cluster, trial: &mut Trial<'_>, disk: &Ext4<'_>) -> Result<(), Miss> {
    let node = trial.node.clone();
    trial.wait(SOON, "the Node's condition names the disk", || {
        cluster.api().true_message(&node, CONDITION).filter(|message| disk.is_named_in(message)).map(drop)
    })?;
    trial.found("condition");
    trial.wait(DRAINED, "no pod is left on it", || {
        cluster.api().record(&node)?;
        (pods_on(cluster, &node)? == 0).then_some(())
    })?;
    trial.acted();
    Ok(())
}

fn pods_on(cluster: &Cluster, node: &str) -> Option<usize> {
    let pods = cluster.api().get(&format!("/api/v1/namespaces/default/pods?fieldSelector=spec.nodeName%3D{node}"))?;
    Some(pods["items"].as_array()?.len())
}
