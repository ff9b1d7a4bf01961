//! etcd: a member on each control-plane host; without a quorum the API server answers no client.

use std::{collections::BTreeSet, time::Duration};

use nodewell_remediation::time::Moment;

use super::{Machine, Truth};
use crate::scenario::Theme;

#[derive(Debug, Default)]
pub struct Etcd {
    /// Members that do not run although their hosts do.
    pub stopped: BTreeSet<String>,
    /// Members that were well at the last look, and when one was lost.
    pub healthy: usize,
    pub lost: Moment,
}

impl Truth {
    /// Members that answer, by their hosts.
    #[must_use]
    pub fn members(&self, now: Moment) -> Vec<&str> {
        let hosts = self.machines.values().take(self.scenario.control_planes);
        let answers = |machine: &&Machine| machine.answers(now) && !self.etcd.stopped.contains(&machine.name);
        hosts.filter(answers).map(|machine| machine.name.as_str()).collect()
    }

    /// Elsewhere than in its own theme control-plane hosts never fail.
    #[must_use]
    pub fn has_quorum(&self, now: Moment) -> bool {
        self.scenario.theme != Theme::ControlPlane || self.members(now).len() >= self.quorum()
    }

    #[must_use]
    pub fn quorum(&self) -> usize {
        self.scenario.control_planes / 2 + 1
    }

    pub(super) fn run_etcd(&mut self) {
        let now = self.now();
        let healthy = self.members(now).len();
        if healthy < self.etcd.healthy {
            self.etcd.lost = now;
        }
        self.etcd.healthy = healthy;
    }

    /// Each replica asks etcd every 10 s, and some may only just have been answered.
    #[must_use]
    pub fn knew_of_members(&self, now: Moment) -> bool {
        now.since(self.etcd.lost) >= Duration::from_secs(15)
    }

    /// The host of a replica, where replicas run on control-plane hosts.
    #[must_use]
    pub fn host_of(&self, replica: usize) -> Option<String> {
        (self.scenario.theme == Theme::ControlPlane).then(|| format!("cp-{replica}"))
    }

    #[must_use]
    pub fn host_is_well(&self, replica: usize, now: Moment) -> bool {
        self.host_of(replica).is_none_or(|host| self.machines.get(&host).is_some_and(|machine| machine.answers(now)))
    }
}
