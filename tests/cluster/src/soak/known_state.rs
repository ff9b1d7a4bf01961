//! After a fault that was missed: the cluster is brought back to where the next one can be planted.

use std::{sync::atomic::AtomicBool, time::Duration};

use super::{
    trial::{Miss, wait},
    well::Before,
};
use crate::{cluster::Cluster, worker::Worker};

/// What the controller does by itself has happened by then.
const BY_ITSELF: Duration = Duration::from_secs(300);
/// What is done by hand then has come to its end.
const BY_HAND: Duration = Duration::from_secs(300);
const MENDED: &str = "systemctl start containerd kubelet nodewell; umount /srv 2>/dev/null; true";

/// First what was planted is mended, and the controller is waited for; then its records are deleted as a person would.
///
/// # Errors
/// Why it is not as it was.
pub(super) fn restore(cluster: &Cluster, before: &Before, stop: &AtomicBool) -> Result<(), Miss> {
    cluster.workers().iter().for_each(mend);
    if settles(cluster, before, stop, BY_ITSELF)?.is_none() {
        return Ok(());
    }
    cluster.workers().iter().try_for_each(|worker| by_hand(cluster, worker))?;
    match settles(cluster, before, stop, BY_HAND)? {
        None => Ok(()),
        Some(why) => Err(Miss::Missed(format!("the cluster is not as it was: {why}"))),
    }
}

/// Why the cluster is another one than before, after so long.
fn settles(cluster: &Cluster, before: &Before, stop: &AtomicBool, limit: Duration) -> Result<Option<String>, Miss> {
    let mut why = None;
    let settled = wait(stop, limit, || {
        why = before.differs(cluster);
        why.is_none().then_some(())
    })?;
    Ok(if settled.is_some() { None } else { why })
}

fn mend(worker: &Worker) {
    worker.join();
    if worker.is_on() {
        // A machine that ends meanwhile has nothing to be mended.
        let _ = worker.inside().run(["sh", "-c", MENDED]);
    }
}

fn by_hand(cluster: &Cluster, worker: &Worker) -> Result<(), Miss> {
    let name = worker.name();
    worker.on()?;
    mend(worker);
    // The next record of the node takes back what this one has set.
    let _ = cluster.kubectl(&["delete", "nodefence", name, "--ignore-not-found", "--timeout=30s"]);
    let _ = cluster.kubectl(&["uncordon", name]);
    Ok(())
}
