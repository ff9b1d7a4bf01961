//! I21: a BMC that was found to have lied gets no more orders, none is intended, and its record states so soon.

use std::time::Duration;

use nodewell_remediation::{
    api::fence::{NodeFence, Phase},
    time::Moment,
};

use crate::truth::Truth;

/// A renewal so soon after the confirmation may be a late one of the time before; a leader looks at their clocks too.
const LATE: Duration = Duration::from_secs(16);
/// A kubelet that renewed within this lives.
const LIVES: Duration = Duration::from_secs(12);
/// A leader whose cache has been synced for so long begins no order any more.
const NOTICED: Duration = Duration::from_secs(4);
/// The longest agent that was begun before, or a new leader's 10 s to a first renewal and 15 s of them; then the decision, and a
/// write without an answer before it.
const SAID: Duration = Duration::from_secs(40);
/// A replica whose watches delivered everything until so long ago has a synced cache.
const SYNCED: Duration = Duration::from_secs(3);

const FALSE: &str = "FalseConfirmation";

/// By node: of which record and leader, and since when it shows without a break.
pub(super) type Shown = std::collections::BTreeMap<String, (String, Moment)>;

impl Truth {
    pub(super) fn watch_liars(&mut self) {
        let now = self.now();
        let leader = self.undisturbed_leader().filter(|_| self.store.stopped.is_none());
        let showing: Vec<(String, String)> = leader.map_or_else(Vec::new, |leader| {
            let fences = self.store.fences.values().filter(|fence| self.lives_on(fence) && !self.is_skipped(fence));
            fences.map(|fence| (fence.spec.node_name.clone(), format!("{} {leader}", fence.metadata.uid))).collect()
        });
        self.oracle.shown.retain(|name, (key, _)| showing.iter().any(|(other, shown)| other == name && shown == key));
        for (name, key) in showing {
            if !self.oracle.shown.contains_key(&name) {
                self.count("cluster liars found");
            }
            let (_, since) = *self.oracle.shown.entry(name.clone()).or_insert_with(|| (key, now));
            if now.since(since) > SAID {
                self.violate(
                    "I21",
                    format!(
                        "{name} lives on with the boot that was off since {since:?}, and its record does not say so"
                    ),
                );
            }
        }
    }

    /// An agent begins on its BMC, or is to.
    pub(super) fn check_liar(&mut self, name: &str, act: &str) {
        let now = self.now();
        let shown = self.oracle.shown.get(name).is_some_and(|(_, since)| now.since(*since) > NOTICED);
        let given_up = self.store.fences.get(name).is_some_and(is_given_up);
        if shown || given_up {
            self.violate("I21", format!("{act} of {name}, whose BMC was found to have lied"));
        }
    }

    /// Its kubelet renews its Lease and its Node reports Ready with the boot that the record states had ended.
    fn lives_on(&self, fence: &NodeFence) -> bool {
        let (now, name, status) = (self.now(), &fence.spec.node_name, &fence.status);
        let Some(off) = status.off.as_ref().filter(|off| !off.boot_id.is_empty()) else { return false };
        let Some((machine, node)) = self.machines.get(name).zip(self.store.nodes.get(name)) else { return false };
        let Some(confirmed) = self.oracle.confirmed.get(name).copied() else { return false };
        let speaks = machine.renewed > confirmed.plus(LATE) && now.since(machine.renewed) < LIVES;
        let claims_ready = node.uid == fence.spec.node_uid && node.is_ready() && node.boot_id == off.boot_id;
        let unreported = status.storage_only.is_none() && !is_given_up(fence);
        unreported && claims_ready && speaks && machine.boot_id() == off.boot_id && machine.is_alive(now)
    }

    pub(super) fn is_skipped(&self, fence: &NodeFence) -> bool {
        self.store.skipped.contains_key(&fence.spec.node_name) || self.store.skipped.contains_key(&fence.metadata.uid)
    }

    /// The replica that leads, if nothing came between it and the API server.
    pub(super) fn undisturbed_leader(&self) -> Option<String> {
        let now = self.now();
        let lease = self.store.leadership.as_ref()?;
        let holder = &lease.holder;
        let number: usize = holder.strip_prefix("replica-")?.split('-').next()?.parse().ok()?;
        let replica = self.replicas.get(number)?;
        let healthy =
            !self.must_stay_cut_off(number) && replica.frozen <= now && replica.deaf <= now && !self.scenario.dry_run;
        // A replica that does not renew leads no more, although the Lease names it.
        let renews = self.oracle.led.is_some_and(|(leader, at)| leader == number && now.since(at) < SYNCED);
        let name = format!("{holder} in term {}", lease.transitions);
        (healthy && renews && now.since(replica.synced) < SYNCED).then_some(name)
    }
}

fn is_given_up(fence: &NodeFence) -> bool {
    let status = &fence.status;
    let blocked = status.is_blocked_by(FALSE);
    status.giving_up.as_ref().is_some_and(|blocker| blocker.reason == FALSE)
        || blocked && status.phase == Phase::Quarantined
}
