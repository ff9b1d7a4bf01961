//! The controller fences: power is confirmed off before anything is released, and never at the wrong node.

use std::{fs, path::Path, process::Command, time::Duration};

use nodewell_bmc::Pdu;
use nodewell_tests::{
    book::commands,
    cli::Outcome,
    cluster::{Call, Cluster},
    controller::{Controller, apply_manifests, apply_policy, careful_policy, phase},
    fencing::{Fenced, PduOutlet},
    prometheus::{self, promtool},
    suite::{Need, Suite},
};
use serde_json::Value;

const ZONE: &str = "topology.kubernetes.io/zone";
const BMC: Need = Need::Other(nodewell_bmc::missing);
const PDU: Need = Need::Other(nodewell_bmc::missing_pdu);
const PROMTOOL: Need = Need::Other(prometheus::unmet);
/// Silence of 15 s, power read and released; on a loaded machine some more.
const RELEASED_WITHIN: Duration = Duration::from_secs(60);
/// 50 s of silence first.
const HUNG_WITHIN: Duration = Duration::from_secs(120);

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("controller_fences")
        .real_with(&[BMC], "a_dead_node_is_found_off_and_comes_back", a_dead_node_is_found_off_and_comes_back)
        .real_with(&[BMC, PROMTOOL], "what_was_done_is_in_the_metrics", what_was_done_is_in_the_metrics)
        .real_with(
            &[BMC, Need::ControllerManager, Need::LongSuite],
            "a_hung_node_is_turned_off_first",
            a_hung_node_is_turned_off_first,
        )
        .real_with(
            &[BMC, PDU, Need::ControllerManager, Need::LongSuite],
            "a_lost_feed_is_fenced_by_the_outlet",
            a_lost_feed_is_fenced_by_the_outlet,
        )
        .real_with(&[BMC, Need::LongSuite], "a_zone_that_goes_dark_is_no_nodes_fault", a_zone_that_goes_dark)
        .real_with(&[BMC, Need::LongSuite], "a_leader_killed_at_any_step_is_succeeded", a_leader_killed_at_any_step);
}

fn policy() -> Value {
    careful_policy("1m")
}

fn pod(cluster: &Cluster, name: &str) -> Option<Value> {
    let (code, pod) = cluster.admin(&Call::get(&format!("/api/v1/namespaces/default/pods/{name}")));
    (code == 200).then_some(pod)
}

fn node(cluster: &Cluster, name: &str) -> Value {
    cluster.admin(&Call::get(&format!("/api/v1/nodes/{name}"))).1
}

/// Nothing of ours is left on it, and no record.
fn is_at_peace(cluster: &Cluster, name: &str) -> Option<()> {
    let node = node(cluster, name);
    let ours = |taint: &Value| {
        taint["key"].to_string().contains("nodewell") || taint["key"].to_string().contains("out-of-service")
    };
    let tainted = node["spec"]["taints"].as_array().into_iter().flatten().any(ours);
    let cordoned = node["spec"]["unschedulable"] == true;
    (!tainted && !cordoned && phase(cluster, name).is_none_or(|phase| phase == "Closed")).then_some(())
}

fn wait_released(cluster: &Cluster, controller: &Controller, within: Duration) {
    controller.until(within, "the pod is released", || pod(cluster, "db-0").is_none().then_some(()));
}

fn a_dead_node_is_found_off_and_comes_back(cluster: &Cluster) {
    apply_manifests(cluster);
    let fenced = Fenced::start(cluster, "dead", 1, &[(ZONE, "a")]);
    let _well = Fenced::start(cluster, "well", 2, &[(ZONE, "b")]);
    fenced.node.run_pod(cluster, "db-0");
    apply_policy(cluster, "dead-nodes", &policy());
    let folder = tempfile::tempdir().unwrap();
    let audit = folder.path().join("audit.jsonl");
    let controller = Controller::start(cluster, &format!("[audit]\nfile = {audit:?}\n"));
    controller
        .until(RELEASED_WITHIN, "the BMC has been asked who it is", || (!fenced.bmc.orders().is_empty()).then_some(()));
    let boot = fenced.node.reported_boot();
    fenced.kill();
    wait_released(cluster, &controller, RELEASED_WITHIN);
    let orders = fenced.bmc.orders();
    assert!(!orders.iter().any(|order| order.contains("set power 0")), "it was off already: {orders:?}");
    controller.until(RELEASED_WITHIN, "it runs again", || {
        fenced.node.reported_boot().filter(|now| Some(now) != boot.as_ref())
    });
    controller.until(RELEASED_WITHIN, "everything is restored", || is_at_peace(cluster, "dead"));
    let events = cluster.admin(&Call::get("/api/v1/namespaces/default/events")).1.to_string();
    assert!(events.contains("nodewell-controller"), "{events}");
    let ended = || audited(&audit, "dead").into_iter().any(|line| line["what"] == "recordEnds").then_some(());
    controller.until(RELEASED_WITHIN, "the end of its record is in the audit", ended);
    assert_audited(&audited(&audit, "dead"));
}

/// The lines of one node, as a person reads them from the file of a controller that runs.
fn audited(file: &Path, node: &str) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_default();
    // The last one may be half written.
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let lines = whole.map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["node"] == node).collect()
}

/// A machine that was found off: its pods are released, and it is turned on again.
fn assert_audited(lines: &[Value]) {
    let acts = lines.iter().filter(|line| line["act"].is_string());
    let kinds = acts.map(|line| {
        let act = line["act"].as_str().unwrap().split(' ').next().unwrap();
        (line["what"].as_str().unwrap(), act, line["outcome"].as_str())
    });
    let kinds: Vec<_> = kinds.collect();
    for act in ["release", "powerOn"] {
        let begun = kinds.iter().position(|kind| *kind == ("actBegins", act, None));
        let begun = begun.unwrap_or_else(|| panic!("{act} begins in no line: {lines:#?}"));
        let ended = kinds[begun..].contains(&("actEnds", act, Some("done")));
        assert!(ended, "{act} ends well in no line after it: {lines:#?}");
    }
    let entered: Vec<&str> = lines.iter().filter_map(|line| line["to"].as_str()).collect();
    for phase in ["OffConfirmed", "PodsReleased", "PoweringOn"] {
        assert!(entered.contains(&phase), "{phase} is in no line: {lines:#?}");
    }
    for line in lines {
        let has = |key: &str| line[key].as_str().is_some_and(|text| !text.is_empty());
        assert!(
            has("at") && has("host") && has("record") && has("cause") && line["term"].as_u64() >= Some(1),
            "{line}"
        );
    }
}

fn what_was_done_is_in_the_metrics(cluster: &Cluster) {
    apply_manifests(cluster);
    let fenced = Fenced::start(cluster, "counted", 4, &[(ZONE, "a")]);
    let _well = Fenced::start(cluster, "well", 2, &[(ZONE, "b")]);
    fenced.node.run_pod(cluster, "db-0");
    apply_policy(cluster, "dead-nodes", &policy());
    let controller = Controller::start(cluster, "");
    let has = |line: &str| controller.metrics().contains(line).then_some(());
    let ready = "nodewell_controller_fence_ready_nodes{status=\"True\",reason=\"FenceReady\"} 2\n";
    controller.until(RELEASED_WITHIN, "both can be fenced", || has(ready));
    fenced.kill();
    wait_released(cluster, &controller, RELEASED_WITHIN);
    controller.until(RELEASED_WITHIN, "everything is restored", || is_at_peace(cluster, "counted"));
    for line in [
        "nodewell_controller_leader 1\n",
        "nodewell_controller_actions_total{action=\"open\",outcome=\"done\"} 1\n",
        "nodewell_controller_actions_total{action=\"cordon\",outcome=\"done\"} 1\n",
        "nodewell_controller_actions_total{action=\"power_on\",outcome=\"done\"} 1\n",
        // It was off already.
        "nodewell_controller_actions_total{action=\"power_off\",outcome=\"done\"} 0\n",
        "nodewell_controller_cause_to_cordoned_seconds_count 1\n",
        "nodewell_controller_cause_to_off_seconds_count 1\n",
        "nodewell_controller_cause_to_released_seconds_count 1\n",
        "nodewell_controller_api_requests_total{verb=\"patch\",resource=\"nodes/status\",code=\"200\"}",
    ] {
        controller.until(RELEASED_WITHIN, line, || has(line));
    }
    let page = controller.metrics();
    let verdict = promtool(&["check", "metrics"], &page);
    assert!(verdict.content && verdict.output.trim().is_empty(), "{}\n{page}", verdict.output);
}

fn a_hung_node_is_turned_off_first(cluster: &Cluster) {
    apply_manifests(cluster);
    let fenced = Fenced::start(cluster, "hung", 3, &[(ZONE, "a")]);
    let _well = Fenced::start(cluster, "well", 2, &[(ZONE, "b")]);
    // It is what gives a silent node up.
    let _controllers = cluster.as_real().start_controllers("node-lifecycle-controller");
    fenced.node.run_pod(cluster, "db-0");
    apply_policy(cluster, "dead-nodes", &policy());
    let logs = tempfile::tempdir().unwrap();
    let audit = format!("[audit]\nfile = {:?}\n", logs.path().join("audit.jsonl"));
    let controller = Controller::start(cluster, &audit);
    controller
        .until(RELEASED_WITHIN, "the BMC has been asked who it is", || (!fenced.bmc.orders().is_empty()).then_some(()));
    fenced.node.hang(true);
    controller.until(HUNG_WITHIN, "it is turned off", || (!fenced.bmc.is_on()).then_some(()));
    fenced.node.hang(false);
    wait_released(cluster, &controller, RELEASED_WITHIN);
    // What the BMC was asked is no count: ipmitool sends a request again whose answer is late.
    let log = controller.log();
    let offs = log.lines().filter(|line| line.contains("op=Irreversible(PowerOff)")).count();
    assert_eq!(offs, 1, "{log}\n{:?}", fenced.bmc.orders());
    controller.until(HUNG_WITHIN, "everything is restored", || is_at_peace(cluster, "hung"));
    its_audit_names_the_power_off(logs.path());
}

/// When a node was last turned off is in no object of Kubernetes: docs/fencing.md has the command that asks the audit.
fn its_audit_names_the_power_off(logs: &Path) {
    let page = commands("fencing.md", "# jq").replace("/var/log/nodewell-controller", &logs.display().to_string());
    if Command::new("jq").arg("--version").output().is_err() {
        eprintln!("SKIP controller_fences: the audit was asked by no jq: needs Debian's package jq");
        return;
    }
    let outcome = Outcome::from(Command::new("sh").args(["-ec", &page]).output().unwrap());
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let offs: Vec<Vec<&str>> = outcome.stdout.lines().map(|line| line.split('\t').collect()).collect();
    let [off] = offs.as_slice() else { panic!("one power off, and {outcome:?}") };
    let [at, node, "done", message] = off.as_slice() else { panic!("time, node, outcome, message, and {outcome:?}") };
    assert!(at.parse::<jiff::Timestamp>().is_ok() && *node == "hung" && !message.is_empty(), "{outcome:?}");
}

fn a_lost_feed_is_fenced_by_the_outlet(cluster: &Cluster) {
    const OUTLET: u8 = 7;
    apply_manifests(cluster);
    let pdu = Pdu::start().unwrap();
    let fenced =
        Fenced::start(cluster, "fed", 5, &[(ZONE, "a")]).behind(cluster, PduOutlet { pdu: &pdu, number: OUTLET });
    let _well = Fenced::start(cluster, "well", 2, &[(ZONE, "b")]);
    let _controllers = cluster.as_real().start_controllers("node-lifecycle-controller");
    fenced.node.run_pod(cluster, "db-0");
    apply_policy(cluster, "dead-nodes", &policy());
    let controller = Controller::start(cluster, "");
    let ready = "nodewell_controller_fence_ready_nodes{status=\"True\",reason=\"FenceReady\"} 2\n";
    controller.until(RELEASED_WITHIN, "both can be fenced", || controller.metrics().contains(ready).then_some(()));
    let boot = fenced.node.reported_boot();
    pdu.feed(OUTLET, false);
    wait_released(cluster, &controller, HUNG_WITHIN);
    // It had no current, and nothing but the order to the outlet shows that it will not come back by itself.
    assert!(!pdu.is_on(OUTLET), "{}", controller.log());
    pdu.feed(OUTLET, true);
    assert!(!fenced.bmc.is_on(), "its outlet is off");
    controller
        .until(HUNG_WITHIN, "it runs again", || fenced.node.reported_boot().filter(|now| Some(now) != boot.as_ref()));
    controller.until(HUNG_WITHIN, "everything is restored", || is_at_peace(cluster, "fed"));
    assert!(pdu.is_on(OUTLET));
    let events = cluster.admin(&Call::get("/api/v1/namespaces/default/events")).1.to_string();
    assert!(events.contains("FenceDegraded"), "{events}");
}

fn a_zone_that_goes_dark(cluster: &Cluster) {
    apply_manifests(cluster);
    let zone = |name: &str, first: u32| -> Vec<Fenced> {
        let start = |n| Fenced::start(cluster, &format!("{name}-{n}"), first + n, &[(ZONE, name)]);
        (0..4).map(start).collect()
    };
    let (dark, _light) = (zone("dark", 10), zone("light", 20));
    apply_policy(cluster, "dead-nodes", &policy());
    let controller = Controller::start(cluster, "");
    controller.until(RELEASED_WITHIN, "every BMC has been asked", || {
        dark.iter().all(|fenced| !fenced.bmc.orders().is_empty()).then_some(())
    });
    dark.iter().for_each(|fenced| fenced.node.hang(true));
    // Far past the moment at which one of them alone would have been turned off.
    let over = std::time::Instant::now() + Duration::from_secs(80);
    controller.until(Duration::from_secs(90), "80 s go by", || {
        let touched = dark.iter().filter(|fenced| !fenced.bmc.is_on()).count();
        assert!(touched <= 1, "{touched} are off\n{}", controller.log());
        (std::time::Instant::now() > over).then_some(())
    });
    let plan = controller.command(&["plan"]);
    assert!(plan.stdout.contains("Storm") || plan.stdout.contains("Budget"), "{plan:?}");
}

fn a_leader_killed_at_any_step(cluster: &Cluster) {
    apply_manifests(cluster);
    apply_policy(cluster, "dead-nodes", &policy());
    let _well = Fenced::start(cluster, "well", 2, &[(ZONE, "b")]);
    let mut controller = Controller::start(cluster, "");
    for (number, at) in
        (0u32..).zip(["Isolating", "OffConfirmed", "PodsReleased", "PoweringOn", "AwaitReady", "Recovering"])
    {
        let name = format!("killed-{number}");
        let fenced = Fenced::start(cluster, &name, 30 + number, &[(ZONE, "a")]);
        fenced.node.run_pod(cluster, &format!("db-{number}"));
        controller.until(RELEASED_WITHIN, "the BMC has been asked", || (!fenced.bmc.orders().is_empty()).then_some(()));
        fenced.kill();
        // A phase may be over before the test has seen it; then the end alone is what counts.
        controller.until(HUNG_WITHIN, "a moment to kill at", || {
            let phase = phase(cluster, &name);
            (phase.as_deref() == Some(at) || pod(cluster, &format!("db-{number}")).is_none()).then_some(())
        });
        controller.kill();
        controller.start_again();
        controller.until(HUNG_WITHIN, "the pod is released", || {
            pod(cluster, &format!("db-{number}")).is_none().then_some(())
        });
        controller.until(HUNG_WITHIN, "everything is restored", || is_at_peace(cluster, &name));
        let ons = fenced.bmc.orders().iter().filter(|order| order.contains("set power 1")).count();
        assert!(ons <= 2, "killed at {at}: {:?}", fenced.bmc.orders());
        assert!(fenced.bmc.is_on(), "killed at {at}");
        // What is no longer simulated must not count as a node that fails.
        drop(fenced);
        cluster.delete_node(&name);
    }
}
