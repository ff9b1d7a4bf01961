//! The out-of-service taint is the release, for kube-controller-manager deletes by it: all that has to be true before pods go
//! is true, asked and written before the taint, and nothing of it is asked after that.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_tests::{
    cluster::Cluster,
    controller::{Controller, apply_manifests, apply_policy, careful_policy},
    fencing::Fenced,
    suite::{Need, Suite},
    watch::{Change, Watch},
};

const ZONE: &str = "topology.kubernetes.io/zone";
const NEEDS: &[Need] = &[Need::Other(nodewell_bmc::missing), Need::ControllerManager];
/// What acts by the taint, or on a node that is not Ready.
const ACTING: &str = "node-lifecycle-controller,taint-eviction-controller,pod-garbage-collector-controller";
/// Silence of 15 s, power read, and the release; on a loaded machine some more.
const RELEASED_WITHIN: Duration = Duration::from_secs(90);
/// The power of a node under remediation is read every 2 s, whatever is done to it. Pods that go sooner waited for
/// none.
const BEFORE_ANY_READING: Duration = Duration::from_secs(1);
const FENCES: &str = "/apis/nodewell.dev/v1alpha1/nodefences";
const PODS: &str = "/api/v1/namespaces/default/pods";

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("controller_release").real_with(
        NEEDS,
        "the_release_is_intended_and_the_power_read_before_the_taint",
        the_release_is_intended_and_the_power_read_before_the_taint,
    );
}

/// A node with a pod, under a policy and a controller that knows its BMC.
struct Scenario<'a> {
    cluster: &'a Cluster,
    fenced: Fenced,
    controller: Controller,
    _well: Fenced,
}

impl<'a> Scenario<'a> {
    fn start(cluster: &'a Cluster) -> Self {
        apply_manifests(cluster);
        let fenced = Fenced::start(cluster, "released", 60, &[(ZONE, "a")]);
        let healthy = Fenced::start(cluster, "well", 61, &[(ZONE, "b")]);
        fenced.node.run_pod(cluster, "db-0");
        apply_policy(cluster, "dead-nodes", &careful_policy("1m"));
        let controller = Controller::start(cluster, "");
        let known = || (!fenced.bmc.orders().is_empty()).then_some(());
        controller.until(RELEASED_WITHIN, "the BMC has been asked who it is", known);
        Self { cluster, fenced, controller, _well: healthy }
    }

    fn watch(&self, collection: &str, name: &str) -> Watch {
        Watch::start(self.cluster, collection, name)
    }

    /// The first change that is what `is_it` asks for.
    fn first(&self, watch: &Watch, what: &str, is_it: impl Fn(&Change) -> bool) -> Change {
        self.controller.until(RELEASED_WITHIN, what, || watch.first(&is_it))
    }

    /// What the BMC was asked between the two, with the seconds since the first.
    fn asked_between(&self, from: Timestamp, to: Timestamp) -> Vec<(f64, String)> {
        let seconds = |at: Timestamp| at.as_duration().as_secs_f64();
        let since = |(at, order)| (at - seconds(from), order);
        let between = |(after, _): &(f64, String)| *after > 0.0 && *after < seconds(to) - seconds(from);
        self.fenced.bmc.timed_orders().into_iter().map(since).filter(between).collect()
    }
}

fn is_tainted(change: &Change) -> bool {
    let mut taints = change.object["spec"]["taints"].as_array().into_iter().flatten();
    taints.any(|taint| taint["key"] == "node.kubernetes.io/out-of-service")
}

fn intends_release(change: &Change) -> bool {
    let status = &change.object["status"];
    status["phase"] == "PodsReleased" && status["intent"]["op"] == "Release"
}

fn print_step(what: &str, change: &Change, from: &Change) {
    let after = change.at.duration_since(from.at).as_secs_f64();
    eprintln!("    {after:+7.3} s resourceVersion {:>6} {what}", change.version);
}

fn the_release_is_intended_and_the_power_read_before_the_taint(cluster: &Cluster) {
    let _controllers = cluster.as_real().start_controllers(ACTING);
    let scenario = Scenario::start(cluster);
    let node = scenario.watch("/api/v1/nodes", "released");
    let record = scenario.watch(FENCES, "released");
    let pod = scenario.watch(PODS, "db-0");
    scenario.fenced.kill();
    let killed = Timestamp::now();
    let tainted = scenario.first(&node, "the taint is there", is_tainted);
    let intended = scenario.first(&record, "the release is intended", intends_release);
    let gone = scenario.first(&pod, "the pod is gone", |change| change.is_gone);
    let ending = scenario.first(&pod, "the pod was asked to end", |change| {
        change.is_gone || !change.object["metadata"]["deletionTimestamp"].is_null()
    });
    print_step("release intended in the NodeFence", &intended, &tainted);
    print_step("out-of-service taint on the Node", &tainted, &tainted);
    print_step("pod asked to end", &ending, &tainted);
    print_step("pod gone", &gone, &tainted);
    let read = scenario.asked_between(killed, tainted.at);
    let asked = scenario.asked_between(tainted.at, gone.at);
    eprintln!("    asked of the BMC before the taint, in s since its machine died: {read:.2?}");
    eprintln!("    asked of it between the taint and the pod's end, in s since the taint: {asked:.2?}");
    let order = [intended.version, tainted.version, ending.version];
    assert!(order.is_sorted(), "intended, tainted, asked to end: {order:?}");
    assert!(gone.version >= ending.version);
    let readings = read.iter().filter(|(_, order)| order == "get power").count();
    assert!(readings >= 2, "the taint stands on {readings} readings of Off: {read:?}");
    assert!(asked.iter().all(|(_, order)| order == "get power"), "ordered after the taint: {asked:?}");
    let after = gone.at.duration_since(tainted.at).unsigned_abs();
    assert!(after < BEFORE_ANY_READING, "the release went on {after:?} after the taint, past every look: {asked:.2?}");
}
