//! I7: how often we turn a machine off and on again, and whether one that is to stay off does.

use nodewell_remediation::time::Moment;

use crate::truth::Truth;

/// What became of one machine's power by our orders, and by other actors.
#[derive(Debug, Clone, Default)]
pub(super) struct Powered {
    /// When an order of ours turned it off that was on.
    offs: Vec<Moment>,
    /// When one turned it on again after that: a power cycle.
    cycles: Vec<Moment>,
    /// We turned it off, and it has not been on since.
    is_off_by_us: bool,
    /// How often another actor turned it on.
    by_others: usize,
    /// How often a person asked for it to be turned on: by an abort, or a release.
    asked_for: usize,
}

impl Powered {
    /// What is forgotten with a store that went back.
    pub(super) fn forget(&mut self, backup: Moment) {
        self.offs.retain(|at| *at <= backup);
        self.cycles.retain(|at| *at <= backup);
    }
}

impl Truth {
    /// A machine, or a storage, was switched for certain: it was the other way before.
    pub(crate) fn switched(&mut self, name: &str, on: bool, is_ours: bool) {
        let now = self.now();
        let powered = self.oracle.powered.entry(name.to_owned()).or_default();
        match (on, is_ours) {
            (false, true) => {
                powered.offs.push(now);
                powered.is_off_by_us = true;
            }
            (false, false) => {}
            (true, true) => {
                if powered.is_off_by_us {
                    powered.cycles.push(now);
                }
                powered.is_off_by_us = false;
            }
            (true, false) => {
                powered.by_others += 1;
                powered.is_off_by_us = false;
            }
        }
    }

    pub(crate) fn asked_for_power(&mut self, name: &str) {
        self.oracle.powered.entry(name.to_owned()).or_default().asked_for += 1;
    }

    /// At the limit it is turned off once more, and again only if it was turned on by another actor since, or for a person. An
    /// order to a machine that is off by us turns off nothing: of a record whose order was carried out late, by a BMC that is
    /// silent now, or of one that follows a record which a person deleted.
    pub(super) fn check_offs(&mut self, name: &str) {
        let Some(powered) = self.oracle.powered.get(name) else { return };
        if powered.is_off_by_us {
            return;
        }
        let (offs, most) = (powered.offs.len(), self.scenario.most_cycles + powered.by_others + powered.asked_for);
        if offs > most {
            self.violate("I7", format!("{name} was turned off {offs} times already, {} may be", most + 1));
        }
    }

    /// What we turned off is turned on again so often, and then stays off.
    pub(super) fn check_cycles(&mut self, name: &str) {
        let Some(powered) = self.oracle.powered.get(name).filter(|powered| powered.is_off_by_us) else { return };
        let (cycles, most) = (powered.cycles.len(), self.scenario.most_cycles + powered.asked_for);
        if cycles >= most {
            self.violate("I7", format!("{name} was power-cycled {cycles} times already, and is turned on again"));
        }
    }
}
