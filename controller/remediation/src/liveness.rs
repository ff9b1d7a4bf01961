//! Agents that went silent or were removed: what becomes of the conditions they left.
//!
//! Two steps, both pure. [`survey`] looks at what watches brought and names the nodes that deserve a look; [`judge`]
//! takes what the API server itself reports of one of them and returns what to apply, as the agent's own field manager.
//! So the agent takes everything back by its next apply, without a conflict, and no other manager's conditions are
//! touched.
//!
//! Silence is counted by what this controller has seen pass, never by the agent's clock. A node that restarts, and more
//! than half of the agents at once (that is our own blindness), are left alone.

mod conditions;
mod judgement;
mod memory;
mod ownership;

use std::time::Duration;

use jiff::Timestamp;

pub use self::{
    conditions::{AGENT_SILENT, KUBELET_CONDITIONS, RawCondition, StatusView, apply_body},
    judgement::{Evidence, Leave, LivenessAction, judge},
    memory::SilenceMemory,
    ownership::{AGENT, Fields, Ownership, OwnershipError},
};
use crate::{
    api::fence::Phase,
    facts::{LeaseView, Node, kubelet},
    snapshot::Snapshot,
    time::{Moment, Now},
};

/// How long silence lasts before it means something. Every default is the careful one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SilenceTimeouts {
    /// Of an agent without a Lease: it writes its conditions every 5 to 5.5 minutes.
    pub heartbeat: Duration,
    /// A Lease sets itself how long it lasts, but never less than this.
    pub lease: Duration,
    /// While the kubelet is silent too, or the node was seen to start again: a reboot takes minutes.
    pub reboot: Duration,
    /// Conditions that no agent has reported for so long are collected, if there is no Lease.
    pub collect: Duration,
    /// The same, while a Lease shows that the agent is expected back.
    pub collect_leased: Duration,
    /// The same, after its Lease was taken away. An agent that lives makes it again within a minute.
    pub withdrawn: Duration,
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
            withdrawn: Duration::from_mins(10),
            recheck_after: Duration::from_mins(30),
        }
    }
}

/// How an agent was seen to be silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// Its Lease has not been renewed; `renewed` is its time then.
    Lease { renewed: Option<Timestamp> },
    /// It has none; its conditions are not written any more.
    Heartbeats,
}

/// An agent that has been silent for too long, as far as watches show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silence {
    pub node: String,
    pub uid: String,
    pub since: Moment,
    pub sign: Sign,
}

/// What a look at all nodes brought.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    /// Nodes to read and judge, longest silent first.
    pub silent: Vec<Silence>,
    /// Why nothing is done about any of them; one line for people.
    pub blocked: Option<String>,
}

/// Which agents are silent. `memory` must have observed this snapshot.
#[must_use]
pub fn survey(snapshot: &Snapshot, memory: &SilenceMemory, timeouts: &SilenceTimeouts, now: Now) -> Survey {
    let blind = |why: &str| Survey { silent: Vec::new(), blocked: Some(why.to_owned()) };
    if snapshot.epoch == 0 {
        return blind("this controller does not lead");
    }
    if let Some(why) = &snapshot.stopped {
        return blind(&format!("stopped: {why}"));
    }
    if !snapshot.host.synced {
        return blind("the watches are not complete: an agent's silence may be ours");
    }
    let input = SurveyInput { snapshot, memory, timeouts, now };
    let known = snapshot.nodes.values().filter(|node| input.is_known(node)).count();
    let fresh = snapshot.nodes.values().filter(|node| input.is_newly_silent(node)).count();
    if fresh * 2 > known && !input.sees_kubelets_of_few(known) {
        return blind(&format!(
            "{fresh} of {known} agents went silent: that is the network we look through, or the API"
        ));
    }
    let mut silent: Vec<Silence> = snapshot.nodes.values().filter_map(|node| input.to_be_judged(node)).collect();
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
    /// It has an agent, or may have one, that was not marked silent before.
    fn is_known(&self, node: &Node) -> bool {
        !is_marked(node) && (self.lease(node).is_some() || self.seen_beating(node).is_some())
    }

    fn is_newly_silent(&self, node: &Node) -> bool {
        self.is_known(node) && self.silence(node).is_some()
    }

    /// "More than half" means little of one or two; there a kubelet's Lease that moves shows that we can see.
    fn sees_kubelets_of_few(&self, known: usize) -> bool {
        known < 3 && self.snapshot.nodes.keys().any(|node| self.kubelet_lives(node))
    }

    fn kubelet_lives(&self, node: &str) -> bool {
        let lease = self.snapshot.kubelet_leases.get(node);
        lease.is_some_and(|lease| lease.stale_for(self.now.moment) < kubelet::GIVEN_UP)
    }

    fn lease(&self, node: &Node) -> Option<&LeaseView> {
        self.snapshot.agent_leases.get(&node.name)
    }

    fn seen_beating(&self, node: &Node) -> Option<Moment> {
        self.memory.of(&node.name)?.oldest_quiet()
    }

    /// Silent for longer than a living agent ever is.
    fn silence(&self, node: &Node) -> Option<Silence> {
        let (since, sign, timeouts) = match self.lease(node) {
            Some(lease) => {
                let lasts = lease.duration.max(self.timeouts.lease);
                (lease.seen, Sign::Lease { renewed: lease.renewed }, lasts)
            }
            None => (self.seen_beating(node)?, Sign::Heartbeats, self.timeouts.heartbeat),
        };
        let is_over = self.now.moment.since(since) > timeouts;
        is_over.then(|| Silence { node: node.name.clone(), uid: node.uid.clone(), since, sign })
    }

    fn to_be_judged(&self, node: &Node) -> Option<Silence> {
        let signs = self.memory.of(&node.name)?;
        if node.deleting || signs.waits_for_recheck(self.now.moment) {
            return None;
        }
        self.silence(node).filter(|silence| !self.may_be_rebooting(node, silence))
    }

    fn may_be_rebooting(&self, node: &Node, silence: &Silence) -> bool {
        let Some(signs) = self.memory.of(&node.name) else { return true };
        if signs.since_reboot(self.now.moment).is_some_and(|since| since < self.timeouts.reboot) {
            return true;
        }
        let in_our_hands = self.snapshot.fences.get(&node.name).is_some_and(|fence| is_on_its_way(fence.status.phase));
        let kubelet_gone = !self.kubelet_lives(&node.name) || !node.is_ready();
        in_our_hands || kubelet_gone && self.now.moment.since(silence.since) < self.timeouts.reboot
    }
}

/// This controller turns it off and on just now.
fn is_on_its_way(phase: Phase) -> bool {
    matches!(phase, Phase::PoweringOn | Phase::AwaitReady | Phase::Recovering)
}

/// As the watch shows it: whatever is not the kubelet's was marked before.
fn is_marked(node: &Node) -> bool {
    node.conditions.iter().any(|condition| condition.reason == AGENT_SILENT)
}

#[cfg(test)]
mod tests;
