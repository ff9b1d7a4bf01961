//! Whether the watches are complete and alive: who does not hear must not conclude from silence.

use std::{collections::BTreeMap, time::Duration};

use nodewell_remediation::time::Moment;

use crate::cluster::LeaseKind;

/// What is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    Nodes,
    KubeletLeases,
    AgentLeases,
    Fences,
    Policies,
}

impl Source {
    /// As the API server calls it, for metrics.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::KubeletLeases => "kubelet_leases",
            Self::AgentLeases => "agent_leases",
            Self::Fences => "nodefences",
            Self::Policies => "remediationpolicies",
        }
    }
}

/// Decisions need these; agents' Leases only add to them.
const NEEDED: [Source; 4] = [Source::Nodes, Source::KubeletLeases, Source::Fences, Source::Policies];

impl From<LeaseKind> for Source {
    fn from(kind: LeaseKind) -> Self {
        match kind {
            LeaseKind::Kubelet => Self::KubeletLeases,
            LeaseKind::Agent => Self::AgentLeases,
        }
    }
}

/// How long a watch may be silent before it counts as dead.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Every kubelet renews every 10 s: two rounds without a renewal of any of them are our own deafness.
    pub leases: Duration,
    /// API servers send a bookmark about once a minute.
    pub others: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { leases: Duration::from_secs(20), others: Duration::from_secs(150) }
    }
}

impl Limits {
    fn of(&self, source: Source) -> Duration {
        if matches!(source, Source::KubeletLeases) { self.leases } else { self.others }
    }
}

#[derive(Debug)]
pub(super) struct Synced {
    limits: Limits,
    /// When each complete source was last heard.
    heard: BTreeMap<Source, Moment>,
}

impl Synced {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, heard: BTreeMap::new() }
    }

    pub(super) fn complete(&mut self, source: Source, now: Moment) {
        self.heard.insert(source, now);
    }

    /// Before its first list a source is not complete, whatever it sends.
    pub(super) fn hear(&mut self, source: Source, now: Moment) {
        if let Some(heard) = self.heard.get_mut(&source) {
            *heard = now;
        }
    }

    pub(super) fn lose(&mut self, source: Source) {
        self.heard.remove(&source);
    }

    pub(super) fn is_complete(&self, source: Source) -> bool {
        self.heard.contains_key(&source)
    }

    pub(super) fn is_synced(&self, now: Moment) -> bool {
        NEEDED
            .iter()
            .all(|source| self.heard.get(source).is_some_and(|heard| now.since(*heard) <= self.limits.of(*source)))
    }
}
