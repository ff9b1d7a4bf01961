//! What BMCs and outlets report when they are asked, and how long that takes.

use std::time::Duration;

use nodewell_remediation::{facts::Node, snapshot::PowerState};
use tokio::time::sleep;

use super::SimPower;
use crate::{
    scenario::{Mutation, Theme},
    truth::{Outlets, Supply, Truth},
};

/// A reading that takes longer is a late one.
const LATE: Duration = Duration::from_secs(10);
/// A cache, where a mutation has one, repeats a reading for so long.
const CACHED: Duration = Duration::from_secs(120);

impl SimPower {
    /// On at an outlet is no word of the machine; Off is one of the level that it is read by.
    pub(super) async fn read_outlets(&self, node: &Node) -> PowerState {
        if self.outlets(node) == Outlets::Hangs {
            sleep(Duration::from_secs(10)).await;
        }
        let mut truth = self.truth.borrow_mut();
        let supply = truth.machines.get(&node.name).and_then(|machine| machine.supply.as_ref());
        let state = supply.map_or(PowerState::Unknown, Supply::state);
        truth.count(&format!("outlets read {state:?}"));
        if state == PowerState::Off {
            truth.power_was_read(&node.name, state);
        }
        state
    }

    pub(super) async fn reads_late(&self, late: Duration) {
        if late > LATE {
            self.truth.borrow_mut().count("read Late");
        }
        sleep(late).await;
    }
}

impl Truth {
    /// What is answered when the power of a node is asked for.
    pub(super) fn read_power(&mut self, name: &str) -> PowerState {
        let (now, storage) = (self.now(), self.scenario.theme == Theme::Storage);
        let cached = self.oracle.read_off.get(name).is_some_and(|at| now.since(*at) < CACHED);
        if cached && self.scenario.mutation == Mutation::CachesReadings {
            return PowerState::Off;
        }
        let read = self.machines.get_mut(name).map_or(PowerState::Unknown, |machine| machine.power_state(storage, now));
        let state = if self.scenario.mutation == Mutation::FalseOff { PowerState::Off } else { read };
        self.power_was_read(name, state);
        state
    }
}
