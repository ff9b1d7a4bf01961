//! Two hosts with a controller each, a node that is to be lost with a pod on it, and two that are well.

use std::{
    fmt,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{Host, Network};
use crate::{
    cluster::{Call, Cluster},
    controller::{Controller, apply_manifests, apply_policy, blocked_by, careful_policy, fence, phase},
    fencing::{Fenced, MachineAddress},
};

/// Whatever has to come, on a busy machine: silence, the leader's Lease, back-off and a restart one after the other.
const WITHIN: Duration = Duration::from_secs(300);
/// The node that is to be lost.
pub const LOST: &str = "lost";
const POD: &str = "/api/v1/namespaces/default/pods/db-0";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/nodewell-controller/leases";

/// All of it.
pub struct Scenario<'a> {
    pub cluster: &'a Cluster,
    pub network: Network,
    pub lost: Fenced,
    address: MachineAddress,
    controllers: [Controller; 2],
    _well: [Fenced; 2],
}

impl fmt::Debug for Scenario<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scenario").field("network", &self.network).finish_non_exhaustive()
    }
}

/// With room for more power cycles than the careful one has.
fn policy() -> Value {
    let mut policy = careful_policy("2m");
    policy["powerCycles"] = json!({ "count": 9, "window": "24h" });
    policy
}

impl<'a> Scenario<'a> {
    /// The first host leads, the second stands by, and the BMCs have been asked who they are. Each `number` is another
    /// three machines.
    ///
    /// # Panics
    /// If something does not come up.
    #[must_use]
    pub fn start(cluster: &'a Cluster, number: u32) -> Self {
        apply_manifests(cluster);
        let network = Network::start(cluster, 2);
        let address = network.address(100);
        let lost = Fenced::start_at(cluster, LOST, number, &[], &address);
        let healthy = [1u8, 2].map(|one| {
            let address = network.address(100 + one);
            Fenced::start_at(cluster, &format!("well-{one}"), number + u32::from(one), &[], &address)
        });
        lost.node.run_pod(cluster, "db-0");
        apply_policy(cluster, "dead-nodes", &policy());
        let controllers = [0, 1].map(|host| network.host(host).controller(cluster, ""));
        let mut scenario = Self { cluster, network, lost, address, controllers, _well: healthy };
        scenario.controllers[0].start_again();
        scenario.wait_leader(0);
        scenario.controllers[1].start_again();
        scenario.until("the BMC has been asked who it is", |scenario| !scenario.lost.bmc.orders().is_empty());
        scenario
    }

    #[must_use]
    pub fn host(&self, number: usize) -> &Host {
        self.network.host(number)
    }

    #[must_use]
    pub fn controller(&self, number: usize) -> &Controller {
        &self.controllers[number]
    }

    /// SIGKILL.
    pub fn kill(&mut self, number: usize) {
        self.controllers[number].kill();
    }

    /// As systemd would.
    pub fn start_again(&mut self, number: usize) {
        self.controllers[number].start_again();
    }

    /// The node's address.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address.node
    }

    /// The kubelet falls silent and the machine does not answer any more, but it runs.
    pub fn lose(&self) {
        self.lost.node.hang(true);
        self.network.unplug(&self.address);
    }

    /// Once its power is off: from the next boot on it is well.
    pub fn mend_when_off(&self) {
        self.until("it is turned off", |scenario| !scenario.lost.bmc.is_on());
        self.network.plug(&self.address);
        self.lost.node.hang(false);
    }

    /// How often agents of either host ordered a BMC to do `action`. The BMC may get more: `ipmitool` repeats a request
    /// when an answer is late.
    #[must_use]
    pub fn acts(&self, action: &str) -> usize {
        (0..self.controllers.len()).map(|host| self.host(host).agents().passed(action)).sum()
    }

    /// Whether its pod is in the API still.
    #[must_use]
    pub fn has_pod(&self) -> bool {
        self.cluster.admin(&Call::get(POD)).0 == 200
    }

    /// Which host leads.
    #[must_use]
    pub fn leader(&self) -> Option<usize> {
        let (_, lease) = self.cluster.admin(&Call::get(&format!("{LEASES}/nodewell-controller")));
        let holder = lease["spec"]["holderIdentity"].as_str()?;
        (0..self.controllers.len()).find(|host| holder.starts_with(&format!("{}_", self.host(*host).name)))
    }

    /// # Panics
    /// If another one leads still after a long time.
    pub fn wait_leader(&self, host: usize) {
        self.until(&format!("host {host} leads"), |scenario| scenario.leader() == Some(host));
    }

    /// What `host` reports of the node: for so many seconds it cannot be reached, or that it can (`Some(None)`).
    #[must_use]
    pub fn reported_reach(&self, host: usize) -> Option<Option<u64>> {
        let path = format!("{LEASES}/nodewell-controller-reach-{}", self.host(host).name);
        let (_, lease) = self.cluster.admin(&Call::get(&path));
        let reach = lease["metadata"]["annotations"]["nodewell.dev/reach"].as_str()?;
        let reach: Value = serde_json::from_str(reach).ok()?;
        reach.get(LOST).map(Value::as_u64)
    }

    /// Why the record is blocked; empty if it is not.
    #[must_use]
    pub fn blocked_by(&self) -> String {
        blocked_by(self.cluster, LOST)
    }

    #[must_use]
    pub fn phase(&self) -> Option<String> {
        phase(self.cluster, LOST)
    }

    #[must_use]
    pub fn node(&self) -> Value {
        self.cluster.admin(&Call::get(&format!("/api/v1/nodes/{LOST}"))).1
    }

    /// Whether nothing of ours is on the Node.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let node = self.node();
        let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
        let ours =
            |taint: &Value| ["nodewell", "out-of-service"].iter().any(|key| taint["key"].to_string().contains(key));
        !taints.iter().any(ours) && node["spec"]["unschedulable"] != true
    }

    /// Its pod is released, its machine runs, and everything is restored.
    pub fn wait_recovered(&self) {
        self.until("its pod is released", |scenario| !scenario.has_pod());
        self.until("it runs again", |scenario| scenario.lost.bmc.is_on());
        self.until("everything is restored", |scenario| {
            scenario.is_clean() && scenario.phase().is_none_or(|phase| phase == "Closed")
        });
    }

    /// Nothing is done to the machine and its pod, for so long and whatever the controllers think.
    pub fn stays_untouched(&self, span: Duration) {
        let over = Instant::now() + span;
        self.until(&format!("{span:?} go by"), |scenario| {
            assert!(scenario.lost.bmc.is_on() && scenario.has_pod(), "{}", scenario.report());
            assert_eq!(scenario.lost.orders("0"), 0, "{}", scenario.report());
            Instant::now() > over
        });
    }

    /// Waits for it.
    ///
    /// # Panics
    /// With what both controllers have logged, if it does not come in a long time.
    pub fn until(&self, what: &str, mut is_so: impl FnMut(&Self) -> bool) {
        let deadline = Instant::now() + WITHIN;
        while !is_so(self) {
            assert!(Instant::now() < deadline, "waited {WITHIN:?} in vain: {what}\n{}", self.report());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// What both controllers have logged, and the orders to the BMC.
    #[must_use]
    pub fn report(&self) -> String {
        let [a, b] = &self.controllers;
        let record = fence(self.cluster, LOST).unwrap_or_default();
        format!("--- a\n{}\n--- b\n{}\n--- {record}\n{:?}", a.log(), b.log(), self.lost.bmc.orders())
    }
}
