//! A machine and its BMC.

use std::{collections::BTreeMap, time::Duration};

use nodewell_remedy::{snapshot::PowerState, time::Moment};

use super::Truth;

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

impl Machine {
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

    #[must_use]
    pub fn power(&self) -> PowerState {
        match (self.bmc.manner, self.on) {
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
        let Some(machine) = self.machines.get_mut(name).filter(|machine| machine.on != on) else { return };
        machine.on = on;
        machine.boot_takes = boot_takes;
        machine.hung = false;
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
            self.switch(name, on, "its BMC");
        }
    }
}
