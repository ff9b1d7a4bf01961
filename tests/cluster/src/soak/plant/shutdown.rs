//! A worker that its administrator shuts down and turns on again: its agent announces that, and it is left alone.

use std::time::Duration;

use super::{OVER, SOON, worker};
use crate::{
    cluster::Cluster,
    identity::LEASES,
    soak::trial::{Miss, Trial},
};

/// What the agent writes into its Lease when the system shuts down (docs/reboots.md).
const ANNOUNCED: &str = "nodewell.dev/shutdown";
/// systemd kills what ignores SIGTERM after 90 s.
const OFF: Duration = Duration::from_secs(180);

pub(super) fn orderly(cluster: &Cluster, trial: &mut Trial<'_>) -> Result<(), Miss> {
    let worker = worker(cluster, trial)?;
    worker.inside().sh("systemctl --no-block poweroff");
    trial.planted();
    let lease = format!("{LEASES}/{}", trial.node);
    let announced = trial.wait(SOON, "its agent announces it", || {
        let lease = cluster.api().get(&lease)?;
        lease["metadata"]["annotations"][ANNOUNCED].as_str().map(drop)
    });
    if announced.is_ok() {
        trial.found("Lease");
    }
    let off = trial.wait(OFF, "it is off", || (!worker.is_on()).then_some(()));
    let lasted = announced.and(off).and_then(|()| trial.last());
    worker.on()?;
    lasted?;
    trial.over(cluster, OVER)
}
