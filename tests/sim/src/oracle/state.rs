//! Asked every second, and at the end.

use std::time::Duration;

use nodewell_remediation::{
    api::{CORDONED_BY, OUT_OF_SERVICE, REMEDIATION_TAINT},
    facts::Node,
};

use crate::{
    scenario::{Kind, OWN_TAINT},
    truth::Truth,
};

/// Marks that no policy would set any more wait for the default `healthyDelay` (5 min), and a story ends sooner than
/// that after its faults: one with such marks goes on until their time is over.
const ORPHANS: Duration = Duration::from_secs(270);
/// A record that a person deleted is opened again after `healthyDelay`, and takes back what it finds.
const REOPENED: Duration = Duration::from_secs(90);
/// A single node that failed, with an honest BMC: its pods are let go within this of the failure.
const RELEASE: Duration = Duration::from_secs(130);
const FAST_RELEASE: Duration = Duration::from_secs(35);
/// One that was ill and isolated before by a policy that frees no pods. That one decides until the cluster has given
/// the node up after 50 s, however fast the next one is; and `for` of the next one is over by then.
const HEIRS_RELEASE: Duration = Duration::from_secs(80);

impl Truth {
    pub(crate) fn check(&mut self) {
        let now = self.now();
        self.oracle.agents.retain(|agent| agent.until > now);
        self.check_returned();
        self.check_instances();
        self.watch_storm();
        self.watch_drains();
        self.watch_liars();
        self.watch_volumes();
        self.watch_heirs();
    }

    /// A node is back if it is Ready after another boot, or never went.
    fn check_returned(&mut self) {
        let machines = &self.machines;
        let nodes = &self.store.nodes;
        self.oracle.down.retain(|name, (boots, began)| {
            let Some(node) = nodes.get(name) else { return false };
            let booted = machines.get(name).is_some_and(|machine| machine.boots > *boots);
            let spoke = machines.get(name).is_some_and(|machine| machine.renewed > *began);
            !((booted || spoke) && node.is_ready())
        });
    }

    /// What was let go while no replica could know better stays excused; what is let go later is asked at its release.
    fn check_instances(&mut self) {
        if !std::mem::take(&mut self.runs_changed) {
            return;
        }
        let doubled: Vec<String> = self
            .instances()
            .into_iter()
            .filter(|(_, machines)| machines.iter().filter(|name| self.machines[**name].excuse.is_none()).count() > 1)
            .map(|(identity, machines)| format!("{identity} lives on {machines:?}"))
            .collect();
        for text in doubled {
            self.violate("I3", text);
        }
    }

    pub fn is_over(&self) -> bool {
        let (now, end) = (self.now(), self.scenario.end.max(self.oracle.record_deleted.0 + REOPENED));
        let has_marks = || self.has_marks_of_no_policy() || self.has_cordons_of_none();
        now.0 >= end && (now.0 >= end + ORPHANS || !has_marks())
    }

    /// Without a record, and of an older wording of the policy: an edit changed its steps, and another one took that back.
    fn has_marks_of_no_policy(&self) -> bool {
        let steps = self.scenario.step_specs(self.scenario.steps);
        let taints = steps.iter().any(|step| step.taint.is_some());
        let cycles = steps.iter().any(|step| step.power_cycle.is_some());
        self.store.nodes.values().filter(|node| !self.store.fences.contains_key(&node.name)).any(|node| {
            let (remediation, out) = (node.taint(REMEDIATION_TAINT).is_some(), node.taint(OUT_OF_SERVICE).is_some());
            let is_asked_of = node.annotations.contains_key(CORDONED_BY) || remediation && taints || out && cycles;
            (remediation || out) && !is_asked_of
        })
    }

    /// After everything was mended and calm for a while.
    pub fn check_end(&mut self) {
        let has_own_taint = |node: &Node| node.taint(OWN_TAINT).is_some() && self.must_take_own_taints_back();
        let left: Vec<String> = self
            .store
            .nodes
            .values()
            .filter(|node| !self.store.fences.contains_key(&node.name))
            .filter(|node| {
                node.annotations.contains_key(CORDONED_BY)
                    || node.taint(OUT_OF_SERVICE).is_some()
                    || node.taint(REMEDIATION_TAINT).is_some()
                    || has_own_taint(node)
            })
            .map(|node| format!("{} still bears what is ours: {:?} {:?}", node.name, node.annotations, node.taints))
            .collect();
        for text in left {
            self.violate("I12", text);
        }
        if self.scenario.kind == Kind::Plain && !self.scenario.dry_run {
            self.check_liveness();
        }
    }

    fn check_liveness(&mut self) {
        let bound = match (self.scenario.second, self.scenario.fast) {
            (Some(_), _) => HEIRS_RELEASE,
            (None, true) => FAST_RELEASE,
            (None, false) => RELEASE,
        };
        let failed = crate::faults::PLAIN_AT;
        match self.oracle.released_at {
            Some(at) if at.0.saturating_sub(failed) <= bound => {}
            at => self.violate("I17", format!("failed at {failed:?}, released at {at:?}, bound {bound:?}")),
        }
    }
}
