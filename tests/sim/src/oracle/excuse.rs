//! What no controller can know, and for how long: a BMC that lies about a machine that is silent.

use std::time::Duration;

use nodewell_remediation::{api::fence::DrainReport, snapshot::PowerState};

use crate::{
    scenario::SILENT_FOR,
    truth::{Excuse, Truth},
};

/// `kubelet::NODE_MONITOR_GRACE`: the cluster itself gives a node up.
const GIVEN_UP: Duration = Duration::from_secs(50);

impl Truth {
    /// The silence that the policy asks for before a node's power is cut, or its BMC's report believed.
    pub(super) fn silence_asked(&self) -> Duration {
        if self.scenario.fast { SILENT_FOR } else { GIVEN_UP }
    }

    /// Off is confirmed, and the machine runs. That is excused if its BMC reported nothing else since the last order,
    /// and the machine itself reported nothing for as long as the policy asks; of one that was emptied, since Off was
    /// read. A machine that is cut off one storage speaks on: nothing but the switch can show that it writes.
    pub(super) fn excuse(&mut self, name: &str) {
        let (now, asked, twice) = (self.now(), self.silence_asked(), self.was_read_off_twice(name));
        let read_off = self.oracle.off_readings.get(name).and_then(|readings| readings.first()).copied();
        let status = self.store.fences.get(name).map(|fence| &fence.status);
        let is_emptied = status.and_then(|status| status.drain.as_ref()).is_some_and(DrainReport::emptied);
        let speaks_on = status.is_some_and(|status| status.storage_only.is_some());
        let Some(machine) = self.machines.get_mut(name) else { return };
        let is_silent = now.since(machine.renewed) >= asked
            || is_emptied && read_off.is_some_and(|read_off| machine.renewed < read_off);
        if machine.on && machine.has_liar() && twice && (is_silent || speaks_on) {
            machine.excuse = Some(Excuse::Lied { woke: None, read_on: None });
            self.count("cluster lies believed");
        }
    }

    /// A leader that reads On after Off knows better.
    pub(super) fn heard(&mut self, name: &str, state: PowerState) {
        let now = self.now();
        let Some(machine) = self.machines.get_mut(name) else { return };
        if let (PowerState::On, Some(Excuse::Lied { read_on, .. })) = (state, &mut machine.excuse) {
            read_on.get_or_insert(now);
        }
    }

    /// What another leader has read no replica knows any more.
    pub fn forget_heard(&mut self) {
        self.oracle.off_readings.clear();
        for machine in self.machines.values_mut() {
            if let Some(Excuse::Lied { read_on, .. }) = &mut machine.excuse {
                *read_on = None;
            }
        }
    }
}
