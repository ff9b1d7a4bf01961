//! A worker in a container: a systemd of its own, at its port of the switch, and the kernel of this machine.

use std::sync::Arc;

use nodewell_tests::machine::{Hardware, Machine};

use super::{Number, power::Body};
use crate::{control_plane, network::Network};

/// What is booted.
#[derive(Debug)]
pub(super) struct Container {
    pub(super) hardware: Hardware,
    pub(super) network: Arc<Network>,
    pub(super) number: Number,
    /// How many workers there are: their pods' networks lie behind them.
    pub(super) workers: u8,
}

impl Body for Container {
    type Machine = Machine;

    fn name(&self) -> &str {
        &self.hardware.name
    }

    fn turn_on(&self) -> Result<Machine, String> {
        self.plug_in()?;
        Machine::turn_on(&self.hardware)
    }

    fn unplug(&self) {
        self.network.unplug(self.name());
    }

    fn process(machine: &Machine) -> u32 {
        machine.leader()
    }

    fn has_ended(machine: &mut Machine) -> bool {
        machine.has_ended()
    }
}

impl Container {
    fn plug_in(&self) -> Result<(), String> {
        let (name, network) = (self.name(), &self.network);
        network.plug_in(name, self.number.last())?;
        network.route(name, "default", control_plane::LAST)?;
        self.number.others(self.workers).try_for_each(|other| network.route(name, &other.pods(), other.last()))
    }
}
