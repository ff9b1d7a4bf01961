//! What this controller process has seen of agents' signs of life; losing it only delays.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;

use super::conditions::KUBELET_CONDITIONS;
use crate::{
    facts::{AGENT_CONDITION_TYPES, Condition, HeartbeatOwner, Node},
    snapshot::Snapshot,
    time::{Moment, Now},
};

/// When heartbeats, boot IDs and Leases were seen to change, by node.
#[derive(Debug, Clone, Default)]
pub struct SilenceMemory {
    nodes: BTreeMap<String, SignsOfLife>,
}

#[derive(Debug, Clone)]
pub(super) struct SignsOfLife {
    uid: String,
    /// The boot ID, and when it was first seen.
    boot: (String, Moment),
    /// The boot ID was seen to change. When this process starts every boot ID is new to it, and none is a reboot.
    rebooted: bool,
    /// By condition type: the heartbeat, and when it was first seen.
    heartbeats: BTreeMap<String, (Timestamp, Moment)>,
    /// Types among them that the agent reports.
    of_agent: BTreeSet<String>,
    had_lease: bool,
    /// Since when a Lease that was there is gone.
    pub(super) lease_gone: Option<Moment>,
    /// The node is not looked at again before.
    recheck_after: Option<Moment>,
}

impl SilenceMemory {
    /// Records what the snapshot shows. Nodes that are gone are forgotten.
    #[must_use]
    pub fn observe(mut self, snapshot: &Snapshot, now: Now) -> Self {
        self.nodes.retain(|name, _| snapshot.nodes.contains_key(name));
        for (name, node) in &snapshot.nodes {
            let is_new = self.nodes.get(name).is_none_or(|signs| signs.uid != node.uid);
            if is_new {
                self.nodes.insert(name.clone(), SignsOfLife::new(node, now.moment));
            }
            if let Some(signs) = self.nodes.get_mut(name) {
                signs.observe(node, snapshot.agent_leases.contains_key(name), now.moment);
            }
        }
        self
    }

    pub(super) fn of(&self, node: &str) -> Option<&SignsOfLife> {
        self.nodes.get(node)
    }

    /// The node was looked at and there is nothing to do before `until`, unless the agent is heard of.
    pub fn recheck_after(&mut self, node: &str, until: Moment) {
        if let Some(signs) = self.nodes.get_mut(node) {
            signs.recheck_after = Some(until);
        }
    }
}

impl SignsOfLife {
    fn new(node: &Node, now: Moment) -> Self {
        Self {
            uid: node.uid.clone(),
            boot: (node.boot_id.clone(), now),
            rebooted: false,
            heartbeats: BTreeMap::new(),
            of_agent: BTreeSet::new(),
            had_lease: false,
            lease_gone: None,
            recheck_after: None,
        }
    }

    fn observe(&mut self, node: &Node, has_lease: bool, now: Moment) {
        if node.boot_id != self.boot.0 {
            (self.boot, self.rebooted) = ((node.boot_id.clone(), now), true);
        }
        self.lease_gone = match (has_lease, self.lease_gone) {
            (true, _) => None,
            (false, None) if self.had_lease => Some(now),
            (false, since) => since,
        };
        self.had_lease |= has_lease;
        self.of_agent = reported_by_agent(node);
        let foreign = node.conditions.iter().filter(|condition| !is_kubelets(condition));
        let beats = foreign.filter_map(|condition| Some((condition.kind.clone(), condition.heartbeat?)));
        let mut newer = BTreeMap::new();
        for (kind, at) in beats {
            let known = self.heartbeats.get(&kind).filter(|(before, _)| *before == at);
            let is_heard = known.is_none() && self.of_agent.contains(&kind);
            self.recheck_after = self.recheck_after.filter(|_| !is_heard);
            newer.insert(kind, known.copied().unwrap_or((at, now)));
        }
        self.heartbeats = newer;
    }

    /// Since when none of these heartbeats has changed; nothing if there is none, or one is not the heartbeat that was seen
    /// last.
    pub(super) fn unchanged_since(&self, beats: &BTreeMap<String, Option<Timestamp>>) -> Option<Moment> {
        let known = |kind: &str, at: Timestamp| self.heartbeats.get(kind).filter(|(before, _)| *before == at);
        let times: Option<Vec<Moment>> =
            beats.iter().map(|(kind, at)| known(kind, (*at)?).map(|(_, since)| *since)).collect();
        times?.into_iter().max()
    }

    /// The heartbeat of this condition was seen, and has not changed for longer than `timeout`.
    pub(super) fn is_unchanged_for(&self, kind: &str, now: Moment, timeout: Duration) -> bool {
        self.heartbeats.get(kind).is_some_and(|(_, since)| now.since(*since) > timeout)
    }

    /// Since when *some* condition of the agent has had the same heartbeat: a reason to look closer. Those of other writers,
    /// this controller's `FenceReady` among them, beat as they like.
    pub(super) fn oldest_unchanged(&self) -> Option<Moment> {
        let of_agent = self.heartbeats.iter().filter(|(kind, _)| self.of_agent.contains(*kind));
        of_agent.map(|(_, (_, since))| *since).min()
    }

    /// How long ago it was seen to start again.
    pub(super) fn since_reboot(&self, now: Moment) -> Option<Duration> {
        self.rebooted.then(|| now.since(self.boot.1))
    }

    pub(super) fn waits_for_recheck(&self, now: Moment) -> bool {
        self.recheck_after.is_some_and(|until| now < until)
    }
}

fn is_kubelets(condition: &Condition) -> bool {
    KUBELET_CONDITIONS.contains(&condition.kind.as_str())
}

/// What beats under its field manager; where nothing does, what it may report and no field manager owns, because a
/// client emptied `managedFields`. What another client writes is no sign of an agent, not even of one that was removed:
/// Node Problem Detector leaves its conditions behind.
fn reported_by_agent(node: &Node) -> BTreeSet<String> {
    let kinds = |owner: HeartbeatOwner| -> BTreeSet<String> {
        let of_owner = node.conditions.iter().filter(|one| one.heartbeat_owner == owner && !is_kubelets(one));
        of_owner.map(|condition| condition.kind.clone()).collect()
    };
    let own = kinds(HeartbeatOwner::Agent);
    if !own.is_empty() {
        return own;
    }
    let ownerless = kinds(HeartbeatOwner::Ownerless);
    ownerless.into_iter().filter(|kind| AGENT_CONDITION_TYPES.contains(&kind.as_str())).collect()
}
