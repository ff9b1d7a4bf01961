//! Agents (`nodewelld` of each node) that went silent or were removed: what becomes of the conditions they left.
//!
//! Two steps, both pure. [`survey`] looks at what watches brought and names the nodes whose agent seems silent; [`judge`]
//! takes what the API server itself reports of one of them and returns what to apply, as the agent's own field manager:
//! first its conditions as Unknown, and once the agent counts as removed, a set without them (they are *collected*). So the
//! agent takes everything back by its next apply, without a conflict, and no other manager's conditions are touched.
//!
//! Silence is counted by what this controller has seen pass, never by the agent's clock. A node that restarts, and more
//! than half of the agents at once (then the controller's network or the API server is at fault), are left alone.

mod condition_owners;
mod conditions;
mod judgement;
mod memory;

use std::time::Duration;

use jiff::Timestamp;

pub use self::{
    condition_owners::{AGENT_FIELD_MANAGER, BEFORE_FIRST_APPLY, ConditionOwners, ConditionOwnersError, OwnedFields},
    conditions::{AGENT_SILENT, KUBELET_CONDITIONS, RawCondition, StatusView, apply_body},
    judgement::{Evidence, LeaveReason, LivenessAction, judge},
    memory::SilenceMemory,
};
use crate::{
    api::fence::Phase,
    facts::{LeaseView, Node, kubelet},
    snapshot::Snapshot,
    time::{Moment, Now},
};

/// How long an agent is silent before anything is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SilenceTimeouts {
    /// For an agent without a Lease: it writes its conditions every 5 to 5.5 minutes.
    pub heartbeat: Duration,
    /// For an agent with a Lease, `leaseDurationSeconds`, but never less than this.
    pub lease: Duration,
    /// While the kubelet is silent too, or the node was seen to start again: a reboot takes minutes.
    pub reboot: Duration,
    /// Conditions that no agent has reported for so long are removed, if there is no Lease.
    pub collect: Duration,
    /// The same, while a Lease shows that the agent is expected back.
    pub collect_leased: Duration,
    /// The same, after its Lease was deleted. An agent that lives creates it again within a minute.
    pub lease_deleted: Duration,
    /// A node at which there was nothing to do is not looked at again before, unless its agent is heard of.
    pub recheck_after: Duration,
}

impl Default for SilenceTimeouts {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_mins(15),
            lease: Duration::from_secs(40),
            reboot: Duration::from_mins(10),
            collect: Duration::from_hours(24),
            collect_leased: Duration::from_hours(24 * 7),
            lease_deleted: Duration::from_mins(10),
            recheck_after: Duration::from_mins(30),
        }
    }
}

/// How an agent was seen to be silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SilenceSign {
    /// Its Lease has not been renewed since `renewed`, its `renewTime`.
    Lease { renewed: Option<Timestamp> },
    /// It has no Lease, and its conditions are not written any more.
    Heartbeats,
}

/// An agent that has been silent for too long, as far as watches show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SilentAgent {
    pub node: String,
    pub uid: String,
    pub since: Moment,
    pub sign: SilenceSign,
}

/// What [`survey`] found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    /// Nodes to read and judge, longest silent first.
    pub silent: Vec<SilentAgent>,
    /// Why silent agents are left alone; one line for people.
    pub blocked: Option<String>,
}

/// Which agents are silent. `memory` must have observed this snapshot.
#[must_use]
pub fn survey(snapshot: &Snapshot, memory: &SilenceMemory, timeouts: &SilenceTimeouts, now: Now) -> Survey {
    let blocked = |why: &str| Survey { silent: Vec::new(), blocked: Some(why.to_owned()) };
    if snapshot.epoch == 0 {
        return blocked("this controller does not lead");
    }
    if let Some(why) = &snapshot.stopped {
        return blocked(&format!("stopped: {why}"));
    }
    if !snapshot.host.synced {
        return blocked("the watches are not complete: an agent's silence may be ours");
    }
    let absence = snapshot.host.absence;
    if absence.is_some_and(|absence| now.moment.since(absence.until) < kubelet::RENEWS_AGAIN_WITHIN) {
        let why = "the API server was away until a moment ago, or this controller has just begun";
        return blocked(&format!("{why}: agents need some seconds to be heard"));
    }
    let input = SurveyInput { snapshot, memory, timeouts, now };
    let agents = snapshot.nodes.values().filter(|node| input.has_unreported_agent(node)).count();
    let newly_silent = snapshot.nodes.values().filter(|node| input.is_newly_silent(node)).count();
    if newly_silent * 2 > agents && !input.are_few_with_live_kubelet(agents) {
        return blocked(&format!(
            "{newly_silent} of {agents} agents went silent: that is the network we look through, or the API"
        ));
    }
    let mut silent: Vec<SilentAgent> = snapshot.nodes.values().filter_map(|node| input.to_be_judged(node)).collect();
    silent.sort_by_key(|silence| silence.since);
    Survey { silent, blocked: None }
}

struct SurveyInput<'a> {
    snapshot: &'a Snapshot,
    memory: &'a SilenceMemory,
    timeouts: &'a SilenceTimeouts,
    now: Now,
}

impl SurveyInput<'_> {
    /// It has an agent, or may have one, whose silence was not reported before.
    fn has_unreported_agent(&self, node: &Node) -> bool {
        !is_reported_silent(node) && (self.lease(node).is_some() || self.oldest_heartbeat_since(node).is_some())
    }

    fn is_newly_silent(&self, node: &Node) -> bool {
        self.has_unreported_agent(node) && self.silent_agent(node).is_some()
    }

    /// "More than half" means little of one or two agents. There a kubelet's Lease that is renewed shows that the network and
    /// the API server are not at fault.
    fn are_few_with_live_kubelet(&self, agents: usize) -> bool {
        agents < 3 && self.snapshot.nodes.keys().any(|node| self.kubelet_lives(node))
    }

    fn kubelet_lives(&self, node: &str) -> bool {
        let lease = self.snapshot.kubelet_leases.get(node);
        lease.is_some_and(|lease| lease.stale_for(self.now.moment) < kubelet::NODE_MONITOR_GRACE)
    }

    fn lease(&self, node: &Node) -> Option<&LeaseView> {
        self.snapshot.agent_leases.get(&node.name)
    }

    /// Since when some condition of the agent has had the same heartbeat; nothing if none ever had one.
    fn oldest_heartbeat_since(&self, node: &Node) -> Option<Moment> {
        self.memory.of(&node.name)?.oldest_unchanged()
    }

    /// Silent for longer than a living agent ever is.
    fn silent_agent(&self, node: &Node) -> Option<SilentAgent> {
        let (since, sign, timeout) = match self.lease(node) {
            Some(lease) => {
                let lasts = lease.duration.max(self.timeouts.lease);
                (lease.change_seen_at, SilenceSign::Lease { renewed: lease.renewed }, lasts)
            }
            None => (self.oldest_heartbeat_since(node)?, SilenceSign::Heartbeats, self.timeouts.heartbeat),
        };
        let is_silent = self.now.moment.since(since) > timeout;
        is_silent.then(|| SilentAgent { node: node.name.clone(), uid: node.uid.clone(), since, sign })
    }

    fn to_be_judged(&self, node: &Node) -> Option<SilentAgent> {
        let signs = self.memory.of(&node.name)?;
        if node.deleting || signs.waits_for_recheck(self.now.moment) {
            return None;
        }
        self.silent_agent(node).filter(|silence| !self.may_be_rebooting(node, silence))
    }

    fn may_be_rebooting(&self, node: &Node, silence: &SilentAgent) -> bool {
        let Some(signs) = self.memory.of(&node.name) else { return true };
        if signs.since_reboot(self.now.moment).is_some_and(|since| since < self.timeouts.reboot) {
            return true;
        }
        let is_restarting = self.snapshot.fences.get(&node.name).is_some_and(|fence| is_starting(fence.status.phase));
        let kubelet_gone = !self.kubelet_lives(&node.name) || !node.is_ready();
        is_restarting || kubelet_gone && self.now.moment.since(silence.since) < self.timeouts.reboot
    }
}

/// This controller turned the machine off, and it starts again.
fn is_starting(phase: Phase) -> bool {
    matches!(phase, Phase::PoweringOn | Phase::AwaitReady | Phase::Recovering)
}

/// A condition of the Node has the reason `AgentSilent`, by the watch: the agent's silence was reported before.
fn is_reported_silent(node: &Node) -> bool {
    node.conditions.iter().any(|condition| condition.reason == AGENT_SILENT)
}

#[cfg(test)]
mod tests;
