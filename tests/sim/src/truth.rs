//! What really is so: machines and what runs on them, what the API server stores, which actor is asked what.

mod cluster;
mod daemons;
mod etcd;
mod evictions;
mod finalizers;
mod kubelet;
mod machine;
mod pods;
mod provider;
mod restart;
mod restore;
mod store;
mod supply;
mod volumes;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use nodewell_reconcile::clock::Clock;
use nodewell_remediation::{api::fence::Phase, time::Moment};
use tokio::sync::Notify;

pub use self::{
    etcd::Etcd,
    evictions::{Collector, tolerates},
    machine::{Bmc, Excuse, Machine, Manner, Provider},
    pods::{SAN, uses_san, without_claims},
    provider::Orders,
    restart::{Announcer, Restart, is_shutting_down},
    restore::Backups,
    store::{Change, Policy, Store},
    supply::{Outlets, Supply},
    volumes::Attached,
};
use crate::{
    oracle::{Announced, Oracle, monotone},
    random::Random,
    scenario::{Scenario, Theme},
    tally::Tally,
};

/// A Node as a call names it: another of the same name is another Node.
#[derive(Debug, Clone, Copy)]
pub struct NodeRef<'n> {
    pub name: &'n str,
    pub uid: &'n str,
}

pub type Shared = Rc<RefCell<Truth>>;

#[derive(Debug)]
pub struct Truth {
    pub scenario: Scenario,
    pub clock: Clock,
    pub random: Random,
    pub machines: BTreeMap<String, Machine>,
    pub store: Store,
    pub replicas: Vec<Replica>,
    pub etcd: Etcd,
    pub provider: Orders,
    pub collector: Collector,
    pub backups: Backups,
    /// The node lifecycle controller saw nothing before.
    pub blind_until: Moment,
    /// A person waits for a record in one of these phases.
    pub lying_in_wait: Vec<Phase>,
    /// What runs where has changed since it was looked at.
    pub runs_changed: bool,
    /// A wall clock was stepped.
    pub stepped: bool,
    pub oracle: Oracle,
    pub trace: Vec<String>,
    /// How often each kind of act and of fault was.
    pub tally: Tally,
    /// API calls, power calls and ticks.
    pub steps: u64,
}

/// A replica of the controller, as the faults know it.
#[derive(Debug, Default)]
pub struct Replica {
    /// It cannot reach the API server until then.
    pub cut: Moment,
    /// It is stopped (SIGSTOP) until then.
    pub frozen: Moment,
    /// Its watches deliver nothing until then.
    pub deaf: Moment,
    /// Since when it was so.
    pub deaf_from: Moment,
    /// It is to die at its next call.
    pub doomed: bool,
    /// It died in a call.
    pub dead: Rc<Notify>,
    /// Since when it knows that the policy forbids to act: it is gone, cannot be read, or only observes.
    pub warned: Option<Moment>,
    /// Since when it knows that the policy is paused.
    pub paused: Option<Moment>,
    /// The term that it began last, and when.
    pub term: (u64, Moment),
    /// How often it was started, and the highest term that its state directory remembers.
    pub life: u32,
    pub epoch_file: u64,
    /// Its watches delivered everything until then.
    pub synced: Moment,
    /// Reboots of which it knows.
    pub announced: Announced,
}

impl Truth {
    #[must_use]
    pub fn new(scenario: Scenario, clock: Clock) -> Self {
        let mut truth = Self {
            random: Random::new(scenario.seed),
            machines: BTreeMap::new(),
            store: Store::default(),
            etcd: Etcd::default(),
            provider: Orders::default(),
            collector: Collector::default(),
            backups: Backups::default(),
            blind_until: Moment::default(),
            lying_in_wait: Vec::new(),
            runs_changed: false,
            stepped: false,
            tally: Tally::default(),
            replicas: (0..scenario.replicas).map(|_| Replica::default()).collect(),
            oracle: Oracle::default(),
            trace: Vec::new(),
            steps: 0,
            scenario,
            clock,
        };
        truth.populate();
        truth
    }

    #[must_use]
    pub fn now(&self) -> Moment {
        self.clock.moment()
    }

    pub fn note(&mut self, line: impl AsRef<str>) {
        let at = self.now().0.as_millis();
        self.trace.push(format!("{:>4}.{:03} {}", at / 1000, at % 1000, line.as_ref()));
    }

    /// One second of everything that is not the controller.
    pub fn tick(&mut self) {
        self.steps += 1;
        let names: Vec<String> = self.machines.keys().cloned().collect();
        for name in &names {
            self.run_machine(name);
        }
        self.run_etcd();
        self.run_cluster();
        self.lose_hosts();
        self.back_up();
        for (invariant, what) in monotone::found() {
            self.violate(invariant, what);
        }
        self.check();
    }

    pub fn count(&mut self, what: &str) {
        self.tally.count(what);
    }

    /// A replica does not reach the API server, or the API server answers no client.
    #[must_use]
    pub fn must_stay_cut_off(&self, replica: usize) -> bool {
        let now = self.now();
        let down = self.store.down > now || !self.has_quorum(now);
        down || self.replicas[replica].cut > now || !self.host_is_well(replica, now)
    }

    /// A program ends with the power of its host.
    fn lose_hosts(&self) {
        if self.scenario.theme == Theme::ControlPlane {
            let hosts = self.machines.values().zip(&self.replicas);
            hosts.filter(|(machine, _)| !machine.on).for_each(|(_, replica)| replica.dead.notify_one());
        }
    }

    /// Machines on which an identity runs and reaches its data, if there are several: that corrupts the data.
    #[must_use]
    pub fn instances(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut first: BTreeMap<&str, &str> = BTreeMap::new();
        let mut doubled: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let keeps = |machine: &Machine, identity: &str| !(machine.storage_cut && uses_san(identity));
        for machine in self.machines.values() {
            for identity in machine.running.values().filter(|identity| keeps(machine, identity)) {
                let other = *first.entry(identity).or_insert(&machine.name);
                if other != machine.name {
                    doubled.entry(identity).or_default().extend([other, machine.name.as_str()]);
                }
            }
        }
        doubled
    }
}
