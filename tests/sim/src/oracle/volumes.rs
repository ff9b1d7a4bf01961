//! I17: volumes that stay attached after a release are reported, the taint waits for them, and those of pods that stay
//! are waited for by no record.

use std::{collections::BTreeMap, time::Duration};

use nodewell_remediation::{
    api::fence::{NodeFence, Phase},
    time::Moment,
};

use crate::truth::Truth;

const STUCK: &str = "AttachmentsStuck";
const LEFT: &str = "AttachmentsLeft";
/// From a release, from when a leader begins to look, and from the last report, to a report: the 2 minutes that detaching may
/// take, a list every 30 s, a step that failed and waits, a write. A record that goes on to its next phase reports again.
const REPORTED: Duration = Duration::from_secs(180);
/// A list of attachments is no older, and the last write about them.
const LISTED: Duration = Duration::from_secs(60);
const MINUTE_SECONDS: i64 = 60;
/// A volume that is free for so long has been on every list.
const SEEN: Duration = Duration::from_secs(10);

/// By record and leader: since when volumes of pods that are gone are attached and it reports none, or none are and it waits for
/// them.
#[derive(Debug, Default)]
pub(super) struct Watched {
    left: BTreeMap<String, Moment>,
    free: BTreeMap<String, Moment>,
}

impl Truth {
    pub(super) fn watch_volumes(&mut self) {
        let now = self.now();
        let leader = self.undisturbed_leader().filter(|_| self.store.stopped.is_none());
        let mut watched = Watched::default();
        let mut found = Vec::new();
        for fence in leader.iter().flat_map(|_| self.store.fences.values()) {
            let name = &fence.spec.node_name;
            // By a clock that was set back, or is behind that of the leader before, the report is put off to the time
            // of the phase.
            let phase = (self.scenario.steps_clocks || self.clocks_differ()).then_some(fence.status.phase);
            let key = format!("{} {} {phase:?}", fence.metadata.uid, leader.as_deref().unwrap_or_default());
            let waits = [STUCK, LEFT].iter().any(|reason| fence.status.is_blocked_by(reason));
            if self.should_report(fence) {
                let before = self.oracle.volumes.left.get(&key).filter(|_| !fence.status.is_blocked_by(STUCK));
                let since = before.copied().unwrap_or(now);
                watched.left.insert(key.clone(), since);
                if now.since(since) > REPORTED {
                    found.push(format!(
                        "volumes are attached to {name} since its release, and its record reports nothing"
                    ));
                }
            }
            if waits && self.has_volumes_that_stay_alone(name) {
                let since = self.oracle.volumes.free.get(&key).copied().unwrap_or(now);
                watched.free.insert(key, since);
                if now.since(since) > LISTED {
                    found.push(format!("the record of {name} waits for volumes of pods that stay there"));
                }
            }
        }
        self.oracle.volumes = watched;
        found.into_iter().for_each(|text| self.violate("I17", text));
    }

    fn clocks_differ(&self) -> bool {
        let (ahead, behind) = (self.scenario.skew.iter().max(), self.scenario.skew.iter().min());
        ahead.zip(behind).is_some_and(|(ahead, behind)| ahead - behind > MINUTE_SECONDS)
    }

    /// Volumes of pods that were released are still there, and its record waits for what it may report.
    fn should_report(&self, fence: &NodeFence) -> bool {
        let status = &fence.status;
        let is_open = !matches!(status.phase, Phase::Quarantined | Phase::Closed);
        let name = &fence.spec.node_name;
        let is_same = self.store.nodes.get(name).is_some_and(|node| node.uid == fence.spec.node_uid);
        let is_released = status.out_of_service && status.released_at.is_some();
        is_open && is_same && is_released && !self.is_skipped(fence) && self.unused_since(name).is_some()
    }

    /// The taint by which the attach-detach controller waits for nothing is to go.
    pub(crate) fn in_service_again(&mut self, name: &str) {
        let now = self.now();
        // Before that it goes because Off is not proven any more, and every pod of a machine that runs would be forced away.
        let is_given_back =
            |fence: &NodeFence| fence.status.phase == Phase::Recovering && fence.status.giving_up.is_none();
        let is_given_back = self.store.fences.get(name).is_some_and(is_given_back);
        let left = self.unused_since(name).filter(|since| now.since(*since) > SEEN);
        if let Some(since) = left.filter(|_| is_given_back) {
            self.violate("I17", format!("{name} is in service again, with volumes of no pod attached since {since:?}"));
        }
    }
}
