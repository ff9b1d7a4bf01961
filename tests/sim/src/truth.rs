//! What really is so: machines and what runs on them, what the API server stores, who is asked what.

mod cluster;
mod kubelet;
mod machine;
mod store;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use nodewell_reconcile::clock::Clock;
use nodewell_remedy::time::Moment;
use tokio::sync::Notify;

pub use self::{
    machine::{Bmc, Machine, Manner},
    store::{Change, Store},
};
use crate::{oracle::Oracle, random::Random, scene::Scene};

pub type Shared = Rc<RefCell<Truth>>;

#[derive(Debug)]
pub struct Truth {
    pub scene: Scene,
    pub clock: Clock,
    pub random: Random,
    pub machines: BTreeMap<String, Machine>,
    pub store: Store,
    pub replicas: Vec<Replica>,
    pub oracle: Oracle,
    pub trace: Vec<String>,
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
    /// It is to die at its next call.
    pub doomed: bool,
    /// It died in a call.
    pub dead: Rc<Notify>,
}

impl Truth {
    #[must_use]
    pub fn new(scene: Scene, clock: Clock) -> Self {
        let mut truth = Self {
            random: Random::new(scene.seed),
            machines: BTreeMap::new(),
            store: Store::default(),
            replicas: (0..scene.replicas).map(|_| Replica::default()).collect(),
            oracle: Oracle::default(),
            trace: Vec::new(),
            steps: 0,
            scene,
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
        self.run_cluster();
        self.check();
    }

    /// Machines on which each identity runs; more than one is the end of somebody's data.
    #[must_use]
    pub fn instances(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut instances: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for machine in self.machines.values() {
            for identity in machine.running.values() {
                instances.entry(identity).or_default().insert(&machine.name);
            }
        }
        instances
    }
}
