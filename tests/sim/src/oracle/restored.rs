//! After the store went back: what no replica can be blamed for, and what must be all the same.

use std::time::Duration;

use nodewell_remediation::{api::fence::NodeFence, time::Moment};

use crate::truth::Truth;

/// After everything was mended, and watches that hang were given up.
const CALM: Duration = Duration::from_secs(60);
/// A leader's term after its last renewal: 15 s less the margin.
const TERM: Duration = Duration::from_secs(13);
/// From then on one record is written in vain so often at most.
const REFUSALS: u32 = 8;

impl Truth {
    /// What was done since the backup stands in no record any more. No replica may count it; but one that does it again
    /// has asked for the power's state since.
    pub(crate) fn forgive_what_was_forgotten(&mut self, backup: Moment) {
        let now = self.now();
        let oracle = &mut self.oracle;
        // It has not heard of it, and stops by its own clock at the latest.
        oracle.led_before = oracle.led.map(|(replica, at)| (replica, at.plus(TERM)));
        oracle.down.retain(|_, (_, began)| *began <= backup);
        let since = oracle.cycles.iter().filter(|(_, cycles)| cycles.iter().any(|at| *at > backup));
        let forgotten: Vec<String> = since.map(|(name, _)| name.clone()).collect();
        oracle.cycles.values_mut().for_each(|cycles| cycles.retain(|at| *at <= backup));
        // A new record turns a node off for the first time, for all that any replica knows.
        oracle.cycles.retain(|_, cycles| !cycles.is_empty());
        // Of a record that was deleted the backup has what was handed over until then.
        let known = |name: &String| if self.store.fences.contains_key(name) { backup } else { self.store.handed_over };
        oracle.powered.iter_mut().for_each(|(name, powered)| powered.forget(known(name).min(backup)));
        oracle.gone.retain(|gone| gone.at <= backup);
        oracle.drains.values_mut().for_each(|began| *began = now);
        oracle.circles.clear();
        oracle.read.retain(|name| !forgotten.contains(name));
        oracle.read_on.clear();
        self.forget_the_policy();
    }

    /// A record was written upon another version than the stored one. That happens; again and again it is a writer that
    /// goes by a dead copy.
    pub(crate) fn refused(&mut self, fence: &NodeFence) {
        let now = self.now();
        if now.0 < self.scenario.trouble + CALM {
            return;
        }
        let name = &fence.spec.node_name;
        let times = self.oracle.refused.entry(name.clone()).or_default();
        *times += 1;
        if *times > REFUSALS {
            self.violate(
                "I17",
                format!("the record of {name} is written upon a copy that is not stored, again and again"),
            );
        }
    }

    /// A number is one leader's, also when the Lease that counts them went back.
    pub(super) fn acts_in_term(&mut self, replica: usize, epoch: u64) {
        let who = (replica, self.replicas[replica].life);
        let first = *self.oracle.terms.entry(epoch).or_insert(who);
        if first != who {
            self.violate("I5", format!("epoch {epoch} is replica {who:?}'s and was replica {first:?}'s"));
        }
    }
}
