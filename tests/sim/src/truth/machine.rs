//! A machine and its BMC.

use std::{collections::BTreeMap, time::Duration};

use nodewell_remedy::{snapshot::PowerState, time::Moment};

use super::Truth;
use crate::scene::Theme;

#[derive(Debug, Clone)]
pub struct Machine {
    pub name: String,
    pub zone: String,
    pub on: bool,
    /// How often it was booted; the boot id is made of it.
    pub boots: u64,
    pub booted: Moment,
    /// How long from power to a kubelet.
    pub boot_takes: Duration,
    /// It does nothing any more, but could again.
    pub hung: bool,
    /// It does not reach the API server, nor is it reached.
    pub cut: bool,
    /// The kubelet is dead; what it started lives on.
    pub kubelet_dead: bool,
    /// It never comes up again by itself.
    pub broken: bool,
    /// Ready, and a monitor says that its kernel is stuck; another boot helps.
    pub ill: bool,
    /// It cannot reach the storage `san`.
    pub storage_cut: bool,
    /// Which Node object of its name is its own, or would be.
    pub generation: u64,
    /// Its Node was deleted; its kubelet makes another one then.
    pub registers: Option<Moment>,
    /// The provider has taken it away.
    pub reaped: bool,
    pub provider: Provider,
    /// What runs: pods' UIDs and which identity each is.
    pub running: BTreeMap<String, String>,
    pub bmc: Bmc,
    pub renewed: Moment,
    /// It did what its BMC denied; what follows from that no controller can know.
    pub excused: bool,
}

#[derive(Debug, Clone)]
pub struct Bmc {
    pub manner: Manner,
    /// What it was told last takes effect then.
    pub pending: Option<(Moment, bool)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Honest,
    /// Does what it is told after so long; says so at once.
    Slow(Duration),
    /// Never answers.
    Hangs,
    /// Answers, and does nothing it is told.
    Refuses,
    /// Says OK and does nothing.
    Pretends,
    /// Says Off, whatever is so.
    SaysOff,
}

/// How the provider's plug-in answers for a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Takes it away, says so, and the Node goes; maybe another machine comes under its name.
    Honest,
    /// Says so and does nothing.
    Lies,
    /// Says nothing, does nothing.
    Hangs,
    /// Says nothing in time, and does it so much later.
    Late(Duration),
    Refuses,
}

impl Machine {
    /// The provider's name of this very machine.
    #[must_use]
    pub fn provider_id(&self) -> String {
        format!("sim://{}/{}", self.name, self.generation)
    }

    #[must_use]
    pub fn node_uid(&self) -> String {
        format!("uid-{}-{}", self.name, self.generation)
    }

    #[must_use]
    pub fn boot_id(&self) -> String {
        format!("{}-boot-{}", self.name, self.boots)
    }

    /// The kubelet runs.
    #[must_use]
    pub fn is_alive(&self, now: Moment) -> bool {
        self.on && !self.hung && !self.kubelet_dead && !self.broken && now.since(self.booted) >= self.boot_takes
    }

    /// It answers over the network.
    #[must_use]
    pub fn answers(&self, now: Moment) -> bool {
        self.on && !self.hung && !self.cut && !self.broken && now.since(self.booted) >= self.boot_takes
    }

    /// What its BMC says; or the switch of its storage, where that is what is cut.
    #[must_use]
    pub fn power(&self, storage: bool) -> PowerState {
        let on = if storage { !self.storage_cut } else { self.on };
        match (self.bmc.manner, on) {
            (Manner::Hangs, _) => PowerState::Unknown,
            (Manner::SaysOff, _) | (_, false) => PowerState::Off,
            (_, true) => PowerState::On,
        }
    }
}

impl Truth {
    /// Turns a machine on or off, now.
    pub fn switch(&mut self, name: &str, on: bool, by: &str) {
        let now = self.now();
        let boot_takes = self.random.secs(15, 50);
        let able = |machine: &&mut Machine| machine.on != on && !(on && machine.reaped);
        let Some(machine) = self.machines.get_mut(name).filter(able) else { return };
        machine.on = on;
        machine.boot_takes = boot_takes;
        machine.hung = false;
        machine.ill = false;
        if on {
            machine.boots += 1;
            machine.booted = now;
            machine.kubelet_dead = false;
        } else {
            machine.running.clear();
        }
        self.note(format!("{name}: power {} by {by}", if on { "on" } else { "off" }));
    }

    pub(super) fn run_bmc(&mut self, name: &str) {
        let now = self.now();
        let Some(machine) = self.machines.get_mut(name) else { return };
        if let Some((_, on)) = machine.bmc.pending.take_if(|(at, _)| *at <= now) {
            self.turn(name, on);
        }
    }

    /// A BMC, or a switch of the storage, does what it was told.
    pub fn turn(&mut self, name: &str, on: bool) {
        if self.scene.theme != Theme::Storage {
            return self.switch(name, on, "its BMC");
        }
        if let Some(machine) = self.machines.get_mut(name) {
            machine.storage_cut = !on;
        }
        self.note(format!("{name}: storage {}", if on { "given back" } else { "cut off" }));
    }
}
