//! What feeds a machine: the outlets that are its second fencing level, and the feed that they hang on.

use nodewell_remediation::snapshot::PowerState;

use super::{Truth, machine::ITS_BMC};
use crate::random::Random;

#[derive(Debug, Clone)]
pub struct Supply {
    pub manner: Outlets,
    pub on: bool,
    /// There is current at the outlets.
    pub fed: bool,
    /// The machine starts with its power; else its BMC has to turn it on.
    pub starts_machine: bool,
}

/// How the outlets answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outlets {
    Honest,
    Hangs,
    /// They answer OK and do nothing.
    Pretends,
    /// They answer nothing from their next order on, and do not carry it out.
    SilentAfterOrder,
}

impl Supply {
    #[must_use]
    pub fn new(random: &mut Random) -> Self {
        Self { manner: outlets(random), on: true, fed: true, starts_machine: random.chance(600) }
    }

    #[must_use]
    pub fn is_live(&self) -> bool {
        self.on && self.fed
    }

    #[must_use]
    pub fn state(&self) -> PowerState {
        match self.manner {
            Outlets::Hangs => PowerState::Unknown,
            _ if self.on => PowerState::On,
            _ => PowerState::Off,
        }
    }
}

fn outlets(random: &mut Random) -> Outlets {
    match random.below(6) {
        0 => Outlets::Hangs,
        1 => Outlets::Pretends,
        _ => Outlets::Honest,
    }
}

impl Truth {
    /// Outlets carry out an order of ours.
    pub fn turn_outlets(&mut self, name: &str, on: bool) {
        self.supply(name, ITS_BMC, |supply| supply.on = on);
    }

    /// True if there is a feed to lose, or to come back.
    pub fn feed(&mut self, name: &str, fed: bool) -> bool {
        let changes =
            self.machines.get(name).and_then(|machine| machine.supply.as_ref()).is_some_and(|it| it.fed != fed);
        self.supply(name, "its feed", |supply| supply.fed = fed);
        changes
    }

    /// A person sees to it that there is current.
    pub(super) fn plug_in(&mut self, name: &str) {
        if let Some(supply) = self.machines.get_mut(name).and_then(|machine| machine.supply.as_mut()) {
            (supply.on, supply.fed) = (true, true);
        }
    }

    fn supply(&mut self, name: &str, by: &str, change: impl FnOnce(&mut Supply)) {
        let Some(machine) = self.machines.get_mut(name) else { return };
        let Some(supply) = machine.supply.as_mut() else { return };
        let was_live = supply.is_live();
        change(supply);
        match (was_live, supply.is_live(), supply.starts_machine) {
            (true, false, _) => {
                // A BMC forgets its orders with its power.
                (machine.bmc.pending, machine.bmc.restores) = (None, None);
                self.switch(name, false, by);
            }
            (false, true, true) => self.switch(name, true, by),
            _ => {}
        }
    }
}
