//! I4: a node that announced an orderly reboot has the policy's `rebootGracePeriod`, counted from when the replica saw
//! it first.

use std::{collections::BTreeMap, time::Duration};

use nodewell_remediation::time::Moment;

use crate::truth::{Change, Truth, is_shutting_down};

/// The default of `spec.rebootGracePeriod`.
const GRACE: Duration = Duration::from_mins(10);
/// What was decided before the announcement was seen is written, or begun, by then.
const DECIDED: Duration = Duration::from_secs(14);

/// Boots that are about to end, as a replica has seen them in this life: by node, and since when.
pub type Announced = BTreeMap<String, (String, Moment)>;

impl Truth {
    /// A replica's watch or list delivered it.
    pub(crate) fn knows_of_reboots(&mut self, replica: usize, change: &Change) {
        let now = self.now();
        let (node, boot) = match change {
            Change::Shutdown(node, boot) => (node, boot),
            Change::Node(node) if is_shutting_down(node) => (&node.name, &node.boot_id),
            _ => return,
        };
        let known = &mut self.replicas[replica].announced;
        if known.get(node).is_none_or(|(other, _)| other != boot) {
            known.insert(node.clone(), (boot.clone(), now));
        }
    }

    /// A record is opened, or the first order of one begins: nothing of that is under way.
    pub(super) fn check_reboot(&mut self, replica: usize, name: &str, what: &str) {
        let now = self.now();
        let Some((boot, at)) = self.replicas[replica].announced.get(name).cloned() else { return };
        let is_that_boot = self.store.nodes.get(name).is_some_and(|node| node.boot_id == boot);
        let since = now.since(at);
        if is_that_boot && since > DECIDED && since < GRACE {
            self.violate("I4", format!("{what} of {name}, which announced the end of {boot} {since:?} ago"));
        }
    }

    /// An order of a record that has ordered nothing before.
    pub(super) fn check_first_order(&mut self, replica: usize, name: &str, act: &str) {
        let uid = self.store.fences.get(name).map(|fence| fence.metadata.uid.clone()).unwrap_or_default();
        if self.oracle.ordered_by.insert(uid) {
            self.check_reboot(replica, name, act);
            self.check_absence(name, act);
        }
    }
}
