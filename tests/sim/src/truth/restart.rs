//! Orderly reboots: the node's agent or its kubelet announces one, some seconds later its boot ends, and the next one
//! takes its time. The machine has power all the while.

use std::time::Duration;

use nodewell_remediation::{
    facts::{Condition, ConditionStatus as Is, Node},
    time::Moment,
};

use super::{Change, Truth, kubelet::condition};

/// From the announcement to the end of the boot: `shutdownGracePeriod`, or what systemd needs for its services.
const SHUTTING_DOWN: Duration = Duration::from_secs(8);
/// What the kubelet's graceful shutdown writes into Ready (`pkg/kubelet/nodeshutdown`).
const MESSAGE: &str = "node is shutting down";

/// Which of them announces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Announcer {
    /// By an annotation of its Lease.
    Agent,
    /// By its condition Ready.
    Kubelet,
    Both,
}

/// A reboot that was announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restart {
    pub by: Announcer,
    /// When its boot ends.
    pub at: Moment,
    /// From then to the next kubelet.
    pub takes: Duration,
    /// That boot has ended.
    pub is_down: bool,
    /// Its power was cut all the same.
    pub is_fenced: bool,
}

impl Restart {
    /// Its kubelet reports it, until it is down.
    #[must_use]
    pub fn is_shown_by_kubelet(&self) -> bool {
        !self.is_down && self.by != Announcer::Agent
    }
}

impl Truth {
    /// True if there is a node to reboot, and a client to announce it to.
    pub(crate) fn restarts(&mut self, name: &str, takes: Duration, by: Announcer) -> bool {
        let now = self.now();
        let is_down = self.store.down > now;
        let able = |machine: &&mut super::Machine| machine.is_alive(now) && !machine.cut && !is_down;
        let Some(machine) = self.machines.get_mut(name).filter(able) else { return false };
        if machine.restart.is_some() || self.store.nodes.get(name).is_none_or(|node| node.uid != machine.node_uid()) {
            return false;
        }
        let at = now.plus(SHUTTING_DOWN);
        machine.restart = Some(Restart { by, at, takes, is_down: false, is_fenced: false });
        let boot = machine.boot_id();
        if by != Announcer::Kubelet {
            self.store.shutdowns.insert(name.to_owned(), boot.clone());
            self.store.changes.push((now, Change::Shutdown(name.to_owned(), boot)));
        }
        if by != Announcer::Agent {
            self.store.edit_node(name, now, shut_down);
        }
        self.note(format!("{name}: announces a reboot of {takes:?} by {by:?}"));
        true
    }

    /// A boot that was announced to end ends.
    pub(super) fn run_restart(&mut self, name: &str) {
        let now = self.now();
        let Some(machine) = self.machines.get_mut(name) else { return };
        let is_due = |restart: &&mut Restart| !restart.is_down && restart.at <= now;
        let Some(restart) = machine.restart.as_mut().filter(is_due) else { return };
        restart.is_down = true;
        let takes = restart.takes;
        machine.begin_boot(now, takes);
        machine.running.clear();
        machine.ending.clear();
        machine.excuse = None;
        self.note(format!("{name}: is down for its reboot"));
    }

    /// Its kubelet is back.
    pub(super) fn restarted(&mut self, name: &str) {
        let Some(machine) = self.machines.get_mut(name) else { return };
        let Some(restart) = machine.restart.take_if(|restart| restart.is_down) else { return };
        let (minutes, fenced) = (restart.takes.as_secs() / 60, restart.is_fenced);
        self.count(&format!("reboot {minutes}min-{}", if fenced { "fenced" } else { "left-alone" }));
    }
}

/// The kubelet's own condition.
pub(super) fn shut_down(node: &mut Node) {
    let ready = Condition { message: MESSAGE.into(), ..condition("Ready", Is::False, "KubeletNotReady") };
    node.conditions = vec![ready];
}

/// By the kubelet itself.
#[must_use]
pub fn is_shutting_down(node: &Node) -> bool {
    node.condition("Ready").is_some_and(|ready| ready.message == MESSAGE)
}
