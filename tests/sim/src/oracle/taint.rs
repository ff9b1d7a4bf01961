//! Asked of the out-of-service taint, which is the release: nothing stops what follows from it.

use std::time::Duration;

use nodewell_remediation::{
    api::{
        OUT_OF_SERVICE,
        fence::{IntendedOp, Intent},
    },
    facts::Taint,
    fence::out_of_service,
    time::Moment,
};

use super::pods::INTENDED;
use crate::{
    scenario::Theme,
    truth::{NodeRef, Truth, tolerates},
};

/// Two readings nearer than this to each other are one.
const APART: Duration = Duration::from_secs(1);
/// A look at what may stop it is so old at most.
const LOOKED: Duration = Duration::from_secs(1);

impl Truth {
    /// A replica is about to set it. What is read from here on is too late to stop it. The rest is asked once for each
    /// intent, for a call without an answer is repeated.
    pub fn taint_begins(&mut self, replica: usize, at: NodeRef<'_>, taint: &Taint) {
        let NodeRef { name, uid } = at;
        if !self.is_release(name, taint) {
            return;
        }
        if !self.was_read_off_twice(name) {
            let readings = self.oracle.off_readings.get(name);
            let text = format!("out-of-service taint on {name}, read as off since the last order at {readings:?} only");
            self.violate("I2", text);
        }
        self.oracle.taints_begun.insert(name.to_owned());
        if let Some(Intent { at, epoch, .. }) = self.intent_of(name)
            && !self.oracle.tried.insert(format!("taint of {uid} by epoch {epoch} at {at}"))
        {
            return;
        }
        self.check_stop(name, "out-of-service taint of");
        self.check_policy(replica, &format!("out-of-service taint of {name}"), INTENDED);
        self.check_lives(name);
    }

    /// The API server sets it: all of its pods go from now on.
    pub fn tainted(&mut self, replica: usize, name: &str, taint: &Taint) {
        if !self.is_release(name, taint) {
            return;
        }
        self.count("act taint-releases");
        if !self.oracle.taints_begun.remove(name) {
            self.violate("I2", format!("out-of-service taint on {name}, after an order that came since it was begun"));
        }
        let uids = self.check_running(name);
        if self.scenario.pod_limit().is_some_and(|(most, _)| uids.len() > most) {
            self.count("cluster more-than-the-rate released");
        }
        self.check_intended(replica, name);
        self.count_pods(name, &uids);
        self.count_left(name, "release", |pod| tolerates(pod, taint));
    }

    /// A replica that sets it again where it is releases nothing new.
    fn is_release(&self, name: &str, taint: &Taint) -> bool {
        let node = self.store.nodes.get(name);
        taint.key == OUT_OF_SERVICE && node.is_some_and(|node| node.taint(OUT_OF_SERVICE).is_none())
    }

    fn intent_of(&self, name: &str) -> Option<Intent> {
        self.store.fences.get(name).and_then(|fence| fence.status.intent.clone())
    }

    /// By what really is so; gives the pods that go: those that do not tolerate it.
    fn check_running(&mut self, name: &str) -> Vec<String> {
        let now = self.now();
        let pods = || self.store.pods_on(name);
        let going = pods().filter(|pod| !tolerates(pod, &out_of_service()));
        let uids: Vec<String> = going.map(|pod| pod.at.uid.clone()).collect();
        let Some(machine) = self.machines.get(name).filter(|machine| !machine.is_excused(now)) else {
            // Nothing stops what follows, whatever is known later.
            self.oracle.let_go.extend(uids.iter().cloned());
            return uids;
        };
        let running: Vec<&String> = pods().filter_map(|pod| machine.running.get(&pod.at.uid)).collect();
        let text = format!("out-of-service taint on {name}, where {running:?} run");
        if !running.is_empty() {
            self.violate("I2", text);
        } else if machine.on && self.scenario.theme == Theme::Storage {
            self.violate("I2", format!("out-of-service taint on {name}, which is only cut off its storage"));
        }
        uids
    }

    /// The intent stands in the record that is stored, of this very Node.
    fn check_intended(&mut self, replica: usize, name: &str) {
        let epoch = self.replicas[replica].term.0;
        let intent = self.intent_of(name);
        if intent.as_ref().is_none_or(|intent| (intent.op, intent.epoch) != (IntendedOp::Release, epoch)) {
            self.violate(
                "I2",
                format!("out-of-service taint on {name} by epoch {epoch}, and the record means {intent:?}"),
            );
        }
        let record = self.store.fences.get(name).map(|fence| &fence.spec.node_uid);
        let node = self.store.nodes.get(name).map(|node| &node.uid);
        if record != node {
            let text = format!("out-of-service taint on {name} ({node:?}) by a record of {record:?}");
            self.violate("I13", text);
        }
    }

    /// A replica that looks before the act sees a kubelet that has renewed its Lease since Off was read.
    fn check_lives(&mut self, name: &str) {
        let now = self.now();
        let since = self.oracle.off_readings.get(name).and_then(|readings| readings.first()).copied();
        let Some(machine) = self.machines.get(name) else { return };
        let renewed = machine.renewed;
        if machine.on && since.is_some_and(|since| renewed > since) && now.since(renewed) > LOOKED {
            self.violate(
                "I2",
                format!("out-of-service taint on {name}, whose kubelet renewed its Lease at {renewed:?}"),
            );
        }
    }

    /// Twice without On in between, apart, after the last order landed.
    pub(super) fn was_read_off_twice(&self, name: &str) -> bool {
        let readings = self.oracle.off_readings.get(name).map(Vec::as_slice).unwrap_or_default();
        matches!(readings, [first, .., last] if last.since(*first) >= APART)
    }

    /// What was read before an order says nothing of the time after it, and a taint that is on its way was begun by that.
    pub(super) fn ordered(&mut self, name: &str) {
        self.oracle.taints_begun.remove(name);
        self.forget_readings(name);
    }

    pub(super) fn forget_readings(&mut self, name: &str) {
        self.oracle.off_readings.remove(name);
    }

    pub(super) fn remember_off(&mut self, name: &str, now: Moment) {
        self.oracle.off_readings.entry(name.to_owned()).or_default().push(now);
    }
}
