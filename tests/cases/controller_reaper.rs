//! node-reaper's documented configuration at work: it drains and reaps by a plug-in, and is refused where it is dangerous.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use nodewell_kit::write_program;
use nodewell_tests::{
    cluster::{Call, Cluster},
    controller::{Controller, apply_manifests},
    stand_in::{AlwaysOn, Make, StandIn},
    suite::Suite,
    wait::until_within,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// As people are given it.
const DOCUMENTED: &str = include_str!("../../docs/examples/node-reaper.yaml");
/// A drain and a reap on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(90);

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("controller_reaper")
        .real_alone("the_documented_configuration_drains_and_reaps", the_documented_configuration_drains_and_reaps)
        .real_alone("a_dangerous_configuration_is_refused_with_its_reason", a_dangerous_configuration_is_refused);
}

/// node-reaper's file, and a plug-in that reaps machines by writing down which.
struct Folder(TempDir);

impl Folder {
    fn new(config: &str) -> Self {
        let folder = TempDir::with_prefix("nodewell-reaper-").unwrap();
        fs::write(folder.path().join("node-reaper.yaml"), config).unwrap();
        let plugins = folder.path().join("plugins");
        fs::create_dir(&plugins).unwrap();
        let script = format!(
            "#!/bin/sh\ncd {} || exit 1\ncase $1 in\ntype) echo stand-in ;;\nreap) cat > asked && mv asked reaped ;;\n\
             status) [ -e reaped ] && echo gone || echo present ;;\nesac\n",
            folder.path().display()
        );
        write_program(&plugins.join("stand-in"), 0o755, &script);
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn start(&self, cluster: &Cluster) -> Controller {
        let (file, plugins) = (self.path("node-reaper.yaml"), self.path("plugins"));
        Controller::start(cluster, &format!("node-reaper-config = {file:?}\n[fencing]\nplugins = [{plugins:?}]\n"))
    }

    /// The Node as the plug-in got it.
    fn reaped(&self) -> Option<Value> {
        serde_json::from_str(&fs::read_to_string(self.path("reaped")).ok()?).ok()
    }
}

/// No grace period for new nodes, for every node of a test is one.
fn enforced(config: &str) -> String {
    let config = config.replace("dryRun: true", "dryRun: false");
    config.replace("newNodeGracePeriodSeconds: 300", "newNodeGracePeriodSeconds: 0")
}

fn start_node(cluster: &Cluster, name: &str, label: Option<&str>) -> StandIn {
    let labels = label.map(|label| (label.to_owned(), String::new())).into_iter().collect();
    let make = Make { name, labels, system_uuid: String::new(), address: "127.0.0.1".to_owned() };
    let node = StandIn::start(cluster, &make, Arc::new(AlwaysOn));
    until_within(PATIENCE, "its kubelet has spoken", || node.reported_boot());
    let provider = json!({ "spec": { "providerID": format!("stand-in:///{name}") } });
    assert_eq!(cluster.admin(&Call::merge(&format!("/api/v1/nodes/{name}"), &provider)).0, 200);
    node.report(cluster, "DiskPressure", "False");
    node
}

fn is_cordoned(cluster: &Cluster, node: &str) -> bool {
    cluster.admin(&Call::get(&format!("/api/v1/nodes/{node}"))).1["spec"]["unschedulable"] == true
}

fn metric(controller: &Controller, name: &str) -> Option<String> {
    let line = format!("node_reaper_controller_{name} ");
    controller.metrics().lines().find_map(|found| found.strip_prefix(&line).map(str::to_owned))
}

fn the_documented_configuration_drains_and_reaps(cluster: &Cluster) {
    apply_manifests(cluster);
    let _master = start_node(cluster, "master", Some("node-role.kubernetes.io/control-plane"));
    let _well = start_node(cluster, "well", None);
    let ill = start_node(cluster, "ill", None);
    ill.run_pod(cluster, "db-0");
    let folder = Folder::new(&enforced(DOCUMENTED));
    let controller = folder.start(cluster);
    until_within(PATIENCE, "it is acted on", || controller.log().contains("is acted on").then_some(()));
    assert!(controller.log().contains("otherwise than node-reaper"), "{}", controller.log());
    ill.report(cluster, "Ready", "False");
    let node = until_within(PATIENCE, "its machine is reaped", || folder.reaped());
    assert_eq!((&node["metadata"]["name"], &node["metadata"]["uid"]), (&json!("ill"), &json!(ill.uid())));
    assert_eq!(node["spec"]["providerID"], "stand-in:///ill");
    assert!(is_cordoned(cluster, "ill") && !is_cordoned(cluster, "well"));
    assert_eq!(cluster.admin(&Call::get("/api/v1/namespaces/default/pods/db-0")).0, 404, "its pod was evicted before");
    until_within(PATIENCE, "the reap is counted", || (metric(&controller, "reap_total")? == "1").then_some(()));
    for (name, count) in [("drain_total", "1"), ("drain_fail_total", "0"), ("reap_fail_total", "0")] {
        assert_eq!(metric(&controller, name).as_deref(), Some(count), "{name}");
    }
}

/// node-reaper's own default, on a cluster of today: control-plane nodes no longer have the label it looks for.
fn a_dangerous_configuration_is_refused(cluster: &Cluster) {
    apply_manifests(cluster);
    let _master = start_node(cluster, "master", Some("node-role.kubernetes.io/control-plane"));
    let _well = start_node(cluster, "well", None);
    let ill = start_node(cluster, "ill", None);
    let folder = Folder::new("dryRun: false\nnewNodeGracePeriodSeconds: 0\n");
    let controller = folder.start(cluster);
    let why = "true of control-plane nodes";
    until_within(PATIENCE, "it is refused", || controller.log().contains(why).then_some(()));
    ill.report(cluster, "Ready", "False");
    let plan = until_within(PATIENCE, "the plan would cordon it", || {
        let plan = controller.command(&["plan"]);
        plan.stdout.contains("Observe").then_some(plan)
    });
    assert!(plan.stdout.contains(why) && plan.stdout.contains("master"), "{plan:?}");
    until_within(PATIENCE, "the controller blocks it", || {
        controller.metrics().contains("reason=\"Observe\"").then_some(())
    });
    assert!(!is_cordoned(cluster, "ill") && folder.reaped().is_none(), "{}", controller.log());
    let checked = controller.command(&["check", &shown(&folder.path("node-reaper.yaml"))]);
    assert!(checked.code == 0 && checked.stdout.contains("otherwise: "), "{checked:?}");
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
