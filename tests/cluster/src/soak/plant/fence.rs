//! Nodes that are dead: turned off for certain, their pods released after that, turned on again and given back.

use std::time::Duration;

use jiff::Timestamp;

use super::{OVER, SOON, ordered, worker};
use crate::{
    cluster::Cluster,
    off_before_release,
    shop::{self, POD},
    soak::trial::{Miss, Trial},
    worker::Worker,
};

/// Silence, two hosts that do not reach it or 50 s, an order, two readings.
const RELEASED: Duration = Duration::from_secs(180);
/// A kubelet that is stopped has renewed its Lease up to 10.4 s before; less than 50 s of silence are no evidence,
/// since its port answers that nothing listens there (docs/controller.md, "How sure it has to be").
const NOT_BEFORE: Duration = Duration::from_secs(39);
const OFF: &str = "set power 0";
const ON: &str = "set power 1";
/// Only a release leads to these.
const AFTER_RELEASE: [&str; 3] = ["PoweringOn", "AwaitReady", "Recovering"];

pub(super) fn plug_pulled(cluster: &Cluster, trial: &mut Trial<'_>) -> Result<(), Miss> {
    let mut fence = Fence::before(cluster, trial)?;
    fence.worker.off();
    trial.planted();
    fence.off_since = Some(Timestamp::now());
    fence.done(trial)?;
    fence.given_back(trial)
}

pub(super) fn cable_pulled(cluster: &Cluster, trial: &mut Trial<'_>) -> Result<(), Miss> {
    let mut fence = Fence::before(cluster, trial)?;
    fence.worker.cut();
    trial.planted();
    let fenced = fence.done(trial).and_then(|()| trial.last());
    fence.worker.join();
    fenced?;
    fence.given_back(trial)
}

/// Its boot has it started again.
pub(super) fn kubelet_stopped(cluster: &Cluster, trial: &mut Trial<'_>) -> Result<(), Miss> {
    let mut fence = Fence::before(cluster, trial)?;
    // It may renew its Lease until it has ended.
    let stopped = Timestamp::now();
    fence.worker.inside().sh("systemctl stop kubelet");
    trial.planted();
    fence.done(trial)?;
    let orders = fence.worker.orders();
    let cut = ordered(&orders, fence.known, OFF).ok_or_else(|| "its BMC was not ordered to turn it off".to_owned())?;
    let after = Duration::try_from(cut.at.duration_since(stopped)).unwrap_or_default();
    if after < NOT_BEFORE {
        trial
            .breaches
            .push(format!("{}: a kubelet that was stopped lost its machine's power after {after:?}", trial.node));
    }
    fence.given_back(trial)
}

/// One node, from before it is dead.
struct Fence<'a> {
    cluster: &'a Cluster,
    worker: &'a Worker,
    /// The pod that there may be only one of ran there.
    has_shop: bool,
    /// How many orders and questions its BMC had before.
    known: usize,
    /// Since when it is off; else since its BMC was ordered so.
    off_since: Option<Timestamp>,
    /// What the pod that was there has written last.
    last_of_old: Option<u64>,
}

impl<'a> Fence<'a> {
    fn before(cluster: &'a Cluster, trial: &Trial<'_>) -> Result<Self, Miss> {
        let worker = worker(cluster, trial)?;
        let has_shop = cluster.api().ready_on(POD).as_deref() == Some(worker.name());
        Ok(Self { cluster, worker, has_shop, known: worker.orders().len(), off_since: None, last_of_old: None })
    }

    /// Waits until its pods are released and it was ordered on, and looks at the order of all that.
    fn done(&mut self, trial: &mut Trial<'_>) -> Result<(), Miss> {
        let (cluster, name) = (self.cluster, self.worker.name());
        trial.wait(SOON, "it has a record", || cluster.api().record(name).map(drop))?;
        trial.found("record");
        trial.wait(RELEASED, "its pods are released", || {
            self.see_old();
            let record = cluster.api().record(name)?;
            AFTER_RELEASE.contains(&record["status"]["phase"].as_str()?).then_some(())
        })?;
        trial.acted();
        let known = self.known;
        trial.wait(SOON, "its BMC is ordered to turn it on", || ordered(&self.worker.orders(), known, ON).map(drop))?;
        self.prove_off(trial)?;
        if self.has_shop { self.prove_one_writer(trial) } else { Ok(()) }
    }

    fn prove_off(&self, trial: &mut Trial<'_>) -> Result<(), Miss> {
        let orders = self.worker.orders();
        let off_since = self.off_since.or_else(|| ordered(&orders, self.known, OFF).map(|order| order.at));
        let off_since = off_since.ok_or_else(|| "its BMC was not ordered to turn it off".to_owned())?;
        let record = trial.wait(SOON, "its record is read", || self.cluster.api().newest_record(self.worker.name()))?;
        if let Err(why) = off_before_release::check(&record, &orders[self.known.min(orders.len())..], off_since) {
            trial.breaches.push(format!("{}: {why}", trial.node));
        }
        Ok(())
    }

    fn prove_one_writer(&mut self, trial: &mut Trial<'_>) -> Result<(), Miss> {
        let (cluster, name) = (self.cluster, self.worker.name());
        trial.wait(SOON, "the pod is ready elsewhere", || {
            self.see_old();
            cluster.api().ready_on(POD).filter(|node| node != name).map(drop)
        })?;
        let last = self.last_of_old.ok_or_else(|| "nothing that the old pod wrote was seen".to_owned())?;
        let first = shop::first_written(cluster);
        if last >= first {
            trial.breaches.push(format!("{name}: two writers: the old one at {last}, the new one at {first}"));
        }
        Ok(())
    }

    /// The kubelet of the new boot may remove the old volume at any time.
    fn see_old(&mut self) {
        self.last_of_old = self.last_of_old.max(shop::last_written(self.worker));
    }

    fn given_back(&self, trial: &mut Trial<'_>) -> Result<(), Miss> {
        trial.over(self.cluster, OVER)?;
        let writes = shop::last_written(self.worker).is_some_and(|last| Some(last) > self.last_of_old);
        if self.has_shop && (writes || shop::runs_the_pod(self.worker)) {
            trial.breaches.push(format!("{}: a second writer, after it was given back", trial.node));
        }
        Ok(())
    }
}
