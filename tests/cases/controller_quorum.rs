//! Control-plane nodes lose their power one at a time, only while a real etcd reports that it keeps its quorum without
//! them, and never the one on which the controller runs.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use nodewell_tests::{
    cluster::{Call, Cluster},
    controller::{Controller, apply_manifests, apply_policy, blocked_by, phase},
    etcd::Etcd,
    fencing::Fenced,
    suite::{Need, Suite},
};
use serde_json::{Value, json};

const NEEDS: &[Need] = &[Need::Other(nodewell_bmc::missing), Need::LongSuite];
const WITHIN: Duration = Duration::from_secs(120);
/// Far past the moment at which the next step would have been taken.
const FAR: Duration = Duration::from_secs(15);
/// The controller's message about etcd.
const TWO: &str = "healthy: 2, total: 3";
const UNKNOWN: &str = "quorum is not known";
const SICK: &str = "tests.nodewell.dev/sick";

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("controller_quorum").real_with(
        NEEDS,
        "control_planes_go_one_at_a_time_and_only_while_etcd_bears_it",
        control_planes_go_one_at_a_time,
    );
}

/// Drain and reboot of what carries the label; guards other than those of the control plane are wide open.
fn policy() -> Value {
    let wide = json!({ "maxUnavailable": 3, "maxUnavailablePerZone": 3, "maxConcurrent": 3 });
    json!({
        "when": format!("'{SICK}' in node.labels"),
        "mode": "Enforce",
        "controlPlane": "OneAtATime",
        "nodeStartupGracePeriod": "0s",
        "for": "0s",
        "healthyDelay": "1s",
        "steps": [{ "cordon": {} }, { "drain": { "timeout": "1m" } }, { "reboot": { "readyTimeout": "1m" } }],
        "cordonBudget": wide,
        "budget": wide,
        "storm": { "unhealthy": 3, "rate": { "count": 9, "window": "1m" }, "cooldown": "1s" },
    })
}

struct Plane<'a> {
    cluster: &'a Cluster,
    controller: Controller,
    nodes: Vec<Fenced>,
}

impl Plane<'_> {
    fn sicken(&self, node: usize, sick: bool) {
        let value = if sick { json!("yes") } else { Value::Null };
        let path = format!("/api/v1/nodes/cp-{node}");
        let body = json!({ "metadata": { "labels": { SICK: value } } });
        assert_eq!(self.cluster.admin(&Call::merge(&path, &body)).0, 200);
    }

    fn blocked_by(&self, node: usize) -> String {
        blocked_by(self.cluster, &format!("cp-{node}"))
    }

    /// The output of `plan` about it: a record is not even opened for what may not be begun.
    fn plan(&self, node: usize) -> String {
        self.controller.command(&["plan", "--node", &format!("cp-{node}")]).stdout
    }

    /// Which of them were ever turned off.
    fn offs(&self) -> [bool; 3] {
        [0, 1, 2].map(|node: usize| self.nodes[node].orders("0") > 0)
    }

    fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        self.controller.until(WITHIN, what, || is_so().then_some(()));
    }

    fn nothing_more_is_turned_off(&self, offs: [bool; 3]) {
        let over = Instant::now() + FAR;
        self.until("time goes by", || {
            assert_eq!(self.offs(), offs, "{}", self.controller.log());
            Instant::now() > over
        });
    }

    /// How often it has logged this text.
    fn logged(&self, text: &str) -> usize {
        self.controller.log().matches(text).count()
    }

    fn wait_blocked(&self, node: usize, reason: &str) {
        self.until(reason, || self.blocked_by(node).contains(&format!("{reason}: ")));
    }

    /// Turned off and on, mended by that, and restored.
    fn wait_rebooted(&self, node: usize) {
        let name = format!("cp-{node}");
        let fenced = &self.nodes[node - 1];
        self.until("it is turned on again", || fenced.orders("1") > 0 && fenced.bmc.is_on());
        self.sicken(node, false);
        self.until("it is restored", || {
            let (_, found) = self.cluster.admin(&Call::get(&format!("/api/v1/nodes/{name}")));
            found["spec"]["unschedulable"] != true && phase(self.cluster, &name).is_none_or(|phase| phase == "Closed")
        });
    }
}

fn control_planes_go_one_at_a_time(cluster: &Cluster) {
    apply_manifests(cluster);
    let role = [("node-role.kubernetes.io/control-plane", "")];
    let nodes = (1..=3).map(|node| Fenced::start(cluster, &format!("cp-{node}"), 80 + node, &role)).collect();
    apply_policy(cluster, "sick-nodes", &policy());
    let mut etcd = Etcd::prepare(cluster);
    let config = format!("node-name = \"cp-3\"\n{}", etcd.config());
    let plane = Plane { cluster, controller: Controller::start(cluster, &config), nodes };

    plane.sicken(1, true);
    plane.wait_blocked(1, "EtcdUnknown");
    plane.nothing_more_is_turned_off([false, false, false]);

    // Two of three have a quorum, and would lose it with the next.
    [0, 1].iter().for_each(|member| etcd.start(*member));
    plane.wait_blocked(1, "EtcdQuorum");
    plane.nothing_more_is_turned_off([false, false, false]);

    // All three: one may go, and the second sick one waits until it is back.
    plane.sicken(2, true);
    plane.until("the second is blocked", || plane.plan(2).contains("ControlPlane"));
    etcd.start(2);
    plane.until("the first is turned off", || plane.offs() == [true, false, false]);
    // A member that hangs is none.
    let before = plane.logged(TWO);
    etcd.signal(2, Signal::SIGSTOP);
    plane.until("its silence is noticed", || plane.logged(TWO) > before);
    plane.wait_rebooted(1);
    plane.wait_blocked(2, "EtcdQuorum");
    plane.nothing_more_is_turned_off([true, false, false]);
    etcd.signal(2, Signal::SIGCONT);
    plane.until("the second is turned off", || plane.offs() == [true, true, false]);
    plane.wait_rebooted(2);

    // Whatever etcd reports: not the host that judges.
    plane.sicken(3, true);
    plane.until("its own host is blocked", || plane.plan(3).contains("OwnHost"));
    plane.nothing_more_is_turned_off([true, true, false]);
    let before = plane.logged(UNKNOWN);
    etcd.kill(0);
    etcd.kill(1);
    plane.until("etcd is not known any more", || plane.logged(UNKNOWN) > before);
    plane.nothing_more_is_turned_off([true, true, false]);
}
