//! Asked of every record that is opened or changed.

use std::time::Duration;

use nodewell_remediation::{
    api::fence::{IntendedOp, NodeFence, NodeFenceStatus, Phase},
    fence::edges::is_edge,
};

use super::heirs::is_superseded;
use crate::{scenario::SECOND, truth::Truth};

/// A decision that was made before the command was seen is written by then.
const WRITTEN: Duration = Duration::from_secs(3);
/// A BMC's reading is believed for 10 s, and then written.
const BELIEVED: Duration = Duration::from_secs(13);
/// After everything was mended a record is in doubt no more often than this.
const CIRCLES: u32 = 8;

impl Truth {
    pub fn opened(&mut self, replica: usize, fence: &NodeFence) {
        let (now, name) = (self.now(), fence.spec.node_name.clone());
        if name.starts_with("cp-") && !self.scenario.fences_control_plane {
            self.violate("I8", format!("a record of control-plane node {name}"));
        }
        if Self::only_takes_back(fence) {
            self.count("cluster marks taken back");
            return;
        }
        self.check_storm(replica, &format!("a record of {name} opened"), false);
        self.check_reboot(replica, &name, "a record");
        self.check_absence(&name, "a record");
        self.check_say(replica, fence);
        // What people do to the policy they do to the one that fences.
        if fence.spec.policy == SECOND {
            return;
        }
        self.check_policy(replica, &format!("a record of {name} opened"), WRITTEN);
        if self.replicas[replica].paused.is_some_and(|since| now.since(since) > WRITTEN) {
            self.violate("I11", format!("a record of {name} opened although its policy is paused"));
        }
    }

    /// This replica is about to write `next` over `stored`.
    pub fn changes(&mut self, replica: usize, stored: &NodeFence, next: &NodeFenceStatus) {
        if let Some(intent) = next.intent.as_ref().filter(|_| next.intent != stored.status.intent) {
            self.acts_in_term(replica, intent.epoch);
        }
        self.check_first_status(stored, next);
        let (was, is) = (stored.status.phase, next.phase);
        let uid = stored.metadata.uid.clone();
        if !is_edge(was, is) {
            self.violate("I18", format!("record of {}: {was:?} → {is:?}", stored.spec.node_name));
        }
        if was != is {
            self.count(&format!("edge {was:?}-{is:?}"));
            self.enters(&uid, &stored.spec.node_name, is);
        }
        if was != is && is_superseded(next) {
            self.gave_way(replica, stored, next);
        }
        if next.drain_begun_at.is_some() && next.drain_begun_at != stored.status.drain_begun_at {
            self.drain_begins(replica, stored);
        }
        let orders =
            next.intent.as_ref().filter(|intent| matches!(intent.op, IntendedOp::PowerOn | IntendedOp::PowerOff));
        if let Some(intent) = orders.filter(|_| stored.status.intent != next.intent) {
            self.check_liar(&stored.spec.node_name, &format!("{:?} is intended: an order", intent.op));
        }
        for reason in new_reasons(&stored.status, next) {
            self.count(&format!("blocker {reason}"));
        }
        if next.drain_portions > stored.status.drain_portions {
            self.count("cluster drained-in-portions");
        }
        if is_drained(next) && !is_drained(&stored.status) {
            self.count_left(&stored.spec.node_name, "drain", |_| true);
        }
        if next.off.is_some() && stored.status.off != next.off {
            self.remember_confirmed(stored, next);
            self.confirmed(&stored.spec.node_name);
        }
    }

    fn enters(&mut self, uid: &str, node: &str, phase: Phase) {
        let now = self.now();
        if phase != Phase::InDoubt || now.0 < self.scenario.trouble + Duration::from_secs(60) {
            return;
        }
        let circles = self.oracle.circles.entry(uid.to_owned()).or_default();
        *circles += 1;
        if *circles > CIRCLES {
            self.violate("I17", format!("the record of {node} goes round in circles: InDoubt again and again"));
        }
    }

    /// When it was recorded first: a repetition for the same boot does not make it newer.
    fn remember_confirmed(&mut self, stored: &NodeFence, next: &NodeFenceStatus) {
        let boot = |status: &NodeFenceStatus| status.off.as_ref().map(|off| off.boot_id.clone());
        if boot(&stored.status) != boot(next) {
            let now = self.now();
            self.oracle.confirmed.insert(stored.spec.node_name.clone(), now);
        }
    }

    /// The boot that the record names has ended. Another one that began since is not reported to be off: what follows
    /// asks again.
    fn confirmed(&mut self, name: &str) {
        let now = self.now();
        self.excuse(name);
        let was_off = self.was_read_off(name, BELIEVED);
        let Some(machine) = self.machines.get(name) else { return };
        if machine.on && !machine.is_excused(now) && !was_off {
            self.violate("I6", format!("Off of {name} was confirmed, and was not read since it booted"));
        }
    }
}

fn is_drained(status: &NodeFenceStatus) -> bool {
    status.drain.as_ref().is_some_and(|drain| drain.done)
}

fn new_reasons(was: &NodeFenceStatus, is: &NodeFenceStatus) -> Vec<String> {
    let new = is.blocked_by.iter().filter(|blocker| !was.is_blocked_by(&blocker.reason));
    new.map(|blocker| blocker.reason.clone()).collect()
}
