//! A node that is cut off one storage, by the agent of the documentation: what was released outlives the record that has it.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use nodewell_tests::{
    cluster::{Call, Cluster},
    controller::{Controller, apply_manifests, apply_policy, careful_policy, fence, phase},
    stand_in::{AlwaysOn, Machine, Make, StandIn},
    suite::{Need, Suite},
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// 50 s of silence, storage read and taken, and the release; on a loaded machine some more.
const RELEASED_WITHIN: Duration = Duration::from_secs(150);
const PATIENCE: Duration = Duration::from_secs(60);
/// Ten rounds of the controller, each of which could restore the storage.
const WATCHED: Duration = Duration::from_secs(10);
const STORAGE: &str = "nfs-data";
const FENCES: &str = "/apis/nodewell.dev/v1alpha1/nodefences";
const IN_DEFAULT: &str = "/api/v1/namespaces/default";

/// What is exported, and to which clients: `-s` shows the table, `-u` takes a line out of it, `-o` puts one in.
const EXPORTFS: &str = r#"#!/bin/bash
T=$(dirname $0)/table; echo "$@" >> $(dirname $0)/calls
case $1 in
-s) cat $T;;
-u) sed -i "\\|^${2#*:} ${2%%:*}(|d" $T;;
-o) echo "${3#*:} ${3%%:*}($2)" >> $T;;
-f) :;;
esac
"#;

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("controller_storage").real_with(
        &[Need::ControllerManager, Need::LongSuite],
        "a_deleted_record_restores_no_storage_to_the_same_boot",
        a_deleted_record_restores_no_storage,
    );
}

/// A machine that runs all the time: what cuts it off is not its power.
struct Running(Mutex<&'static str>);

impl Running {
    fn reboot(&self, boot: &'static str) {
        *self.0.lock().unwrap() = boot;
    }
}

impl Machine for Running {
    fn boot(&self) -> Option<String> {
        Some((*self.0.lock().unwrap()).to_owned())
    }
}

/// An NFS server's exports, with the agent that is shipped as an example.
struct Exports(TempDir);

impl Exports {
    fn new(clients: &[&str]) -> Self {
        let exports = Self(TempDir::with_prefix("nodewell-exports-").unwrap());
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples/fence_nfs_export");
        let program = exports.0.path().join("exportfs");
        let agent = fs::read_to_string(example).unwrap().replace("/usr/sbin/exportfs", &program.to_string_lossy());
        nodewell_kit::write_program(&exports.0.path().join("fence_nfs_export"), 0o755, &agent);
        nodewell_kit::write_program(&program, 0o755, EXPORTFS);
        let table: String = clients.iter().map(|client| format!("/srv/data {client}(rw)\n")).collect();
        fs::write(exports.0.path().join("table"), table).unwrap();
        exports
    }

    fn has(&self, client: &str) -> bool {
        fs::read_to_string(self.0.path().join("table")).unwrap().contains(&format!("/srv/data {client}("))
    }

    /// How often it was exported to any client.
    fn given(&self) -> usize {
        let calls = fs::read_to_string(self.0.path().join("calls")).unwrap_or_default();
        calls.lines().filter(|call| call.starts_with("-o ")).count()
    }
}

fn create(cluster: &Cluster, path: &str, object: &Value) {
    let (code, answer) = cluster.admin(&Call::post(path, object));
    assert_eq!(code, 201, "{answer}");
}

fn configure(cluster: &Cluster, node: &str, address: &str) {
    let method = format!(
        "agent_name=fence_nfs_export\nplug={address}\nexport=/srv/data\nstorage={STORAGE}\nidentity=configured"
    );
    let data = json!({ "config.properties": "power_management=nfs", "fence-method-nfs": method });
    let metadata = json!({ "name": format!("fence-config-{node}") });
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data });
    create(cluster, "/api/v1/namespaces/nodewell/configmaps", &map);
}

/// A pod on `node` with all its data on the storage.
fn run_pod(cluster: &Cluster, node: &StandIn, name: &str) {
    let claim = json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": name },
        "spec": { "storageClassName": STORAGE, "accessModes": ["ReadWriteOnce"],
            "resources": { "requests": { "storage": "1Gi" } } } });
    create(cluster, &format!("{IN_DEFAULT}/persistentvolumeclaims"), &claim);
    node.run_pod_with(cluster, name, &json!([{ "name": "data", "persistentVolumeClaim": { "claimName": name } }]));
}

fn node(cluster: &Cluster, name: &str) -> Value {
    cluster.admin(&Call::get(&format!("/api/v1/nodes/{name}"))).1
}

fn has_pod(cluster: &Cluster, name: &str) -> bool {
    cluster.admin(&Call::get(&format!("{IN_DEFAULT}/pods/{name}"))).0 == 200
}

fn released_boot(cluster: &Cluster, name: &str) -> Option<String> {
    Some(node(cluster, name)["metadata"]["annotations"]["nodewell.dev/storage-released"].as_str()?.to_owned())
}

fn can_be_fenced(cluster: &Cluster, name: &str) -> Option<()> {
    cluster.condition(name, "FenceReady").filter(|condition| condition["status"] == "True").map(drop)
}

/// A record that waits for a person to reboot the machine; another one than `other`.
fn waits(cluster: &Cluster, name: &str, other: &Value) -> Option<Value> {
    let record = fence(cluster, name)?;
    let is_blocked = record["status"]["blockedBy"][0]["reason"] == "LeftCut" && record["metadata"]["uid"] != *other;
    is_blocked.then(|| record["metadata"]["uid"].clone())
}

fn a_deleted_record_restores_no_storage(cluster: &Cluster) {
    apply_manifests(cluster);
    let exports = Exports::new(&["10.0.1.11", "10.0.1.12"]);
    let machine = Arc::new(Running(Mutex::new("boot-1")));
    let make = |name| Make { name, address: "127.0.0.1".to_owned(), ..Make::default() };
    let cut = StandIn::start(cluster, &make("cut"), Arc::clone(&machine) as Arc<dyn Machine>);
    let _well = StandIn::start(cluster, &make("well"), Arc::new(AlwaysOn));
    configure(cluster, "cut", "10.0.1.11");
    configure(cluster, "well", "10.0.1.12");
    run_pod(cluster, &cut, "db-0");
    // It is what gives a silent node up.
    let _controllers = cluster.as_real().start_controllers("node-lifecycle-controller");
    apply_policy(cluster, "dead-nodes", &careful_policy("1m"));
    let controller = Controller::start(cluster, &format!("[fencing]\nagents-folder = {:?}\n", exports.0.path()));
    controller.until(PATIENCE, "its storage can be cut", || can_be_fenced(cluster, "cut"));

    cut.hang(true);
    controller.until(RELEASED_WITHIN, "the pod is released", || (!has_pod(cluster, "db-0")).then_some(()));
    assert!(!exports.has("10.0.1.11") && exports.has("10.0.1.12"));
    let first = controller.until(PATIENCE, "it waits", || waits(cluster, "cut", &Value::Null));
    assert_eq!(released_boot(cluster, "cut").as_deref(), Some("boot-1"));

    assert_eq!(cluster.admin(&Call::delete(&format!("{FENCES}/cut"))).0, 200);
    controller.until(RELEASED_WITHIN, "the next record waits too", || {
        assert_eq!(exports.given(), 0, "the boot whose pods run elsewhere has its storage again\n{}", controller.log());
        waits(cluster, "cut", &first)
    });
    // The old boot reports again, and claims that all is well: it is the one that was cut.
    cut.hang(false);
    cut.report(cluster, "Ready", "True");
    let over = Instant::now() + WATCHED;
    controller.until(WATCHED * 2, "ten rounds go by", || {
        assert_eq!(exports.given(), 0, "the old boot has its storage again\n{}", controller.log());
        (Instant::now() > over).then_some(())
    });
    assert_eq!(released_boot(cluster, "cut").as_deref(), Some("boot-1"));

    machine.reboot("boot-2");
    controller.until(PATIENCE, "the new boot is given its storage", || exports.has("10.0.1.11").then_some(()));
    controller.until(PATIENCE, "nothing is remembered of the old one", || {
        let ended = phase(cluster, "cut").is_none_or(|phase| phase == "Closed");
        (ended && released_boot(cluster, "cut").is_none()).then_some(())
    });
    assert_eq!(exports.given(), 1);
}
