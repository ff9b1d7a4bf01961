//! I4: kubelets that live, and that no controller hears again yet after the API server was away.

use std::time::Duration;

use nodewell_remediation::time::Moment;

use crate::truth::Truth;

/// A kubelet that renewed within this before the API server went lived then.
const RENEWED: Duration = Duration::from_secs(11);
/// No replica heard a kubelet for so long: each must know that it was deaf.
const DEAF: Duration = Duration::from_secs(25);
/// Every kubelet is heard again by then.
const HEARD: Duration = Duration::from_secs(25);

/// When the API server, or etcd's quorum, was away the last time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Absence {
    pub since: Moment,
    pub until: Moment,
}

impl Absence {
    pub(crate) fn lasts(&mut self, now: Moment) {
        if now.since(self.until) > Duration::from_secs(1) || self.until == Moment::default() {
            self.since = now;
        }
        self.until = now;
    }
}

impl Truth {
    /// Something is begun on a node for which nothing was: a record is opened, a drain or a first order begins.
    pub(super) fn check_absence(&mut self, name: &str, what: &str) {
        let (now, absence) = (self.now(), self.oracle.absence);
        let Some(machine) = self.machines.get(name) else { return };
        let was_long = absence.until.since(absence.since) >= DEAF;
        let is_over_since = now.since(absence.until);
        let lived = absence.since.since(machine.renewed) <= RENEWED && machine.renewed >= machine.booted;
        let lives = machine.is_alive(now) && !machine.cut && !machine.ill && machine.restart.is_none();
        if was_long && is_over_since < HEARD && lived && lives {
            self.violate("I4", format!("{what} of {name}, {is_over_since:?} after the API server was away"));
        }
    }
}
