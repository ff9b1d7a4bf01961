//! Storage instead of power: the agent of the documentation, with a stand-in for `exportfs` that has a table and records.

use std::{fs, path::Path, sync::Arc, time::Duration};

use nodewell_power::native::{NativePower, Settings};
use nodewell_reconcile::power::Power;
use nodewell_remediation::{
    action::Failed,
    facts::{Condition, ConditionStatus, FENCE_READY, READS_OFF},
    snapshot::{FenceScope, PowerState},
};

use super::{
    bench::Bench,
    fake::{Fake, node},
};

/// `-s` shows the table, `-u HOST:PATH` takes a line out of it, `-o OPTIONS HOST:PATH` puts one in.
const EXPORTFS: &str = r#"
T=$(dirname $0)/table; echo "$@" >> $(dirname $0)/calls
case $1 in
-s) cat $T;;
-u) sed -i "\\|^${2#*:} ${2%%:*}(|d" $T;;
-o) echo "${3#*:} ${3%%:*}($2)" >> $T;;
-f) :;;
esac"#;

struct Room {
    bench: Bench,
    cluster: Arc<Fake>,
    power: NativePower<Fake>,
}

fn room(table: &str) -> Room {
    let bench = Bench::new();
    let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/fence_nfs_export");
    let exportfs = bench.path().join("exportfs");
    let text = fs::read_to_string(agent).unwrap().replace("/usr/sbin/exportfs", &exportfs.to_string_lossy());
    bench.script("fence_nfs_export", text.split_once('\n').unwrap().1);
    bench.script("exportfs", EXPORTFS);
    fs::write(bench.path().join("table"), table).unwrap();
    let cluster = Arc::new(Fake::default());
    let map = "fence-config-worker-1";
    cluster.map(map, "config.properties", "power_management=nfs");
    let options =
        "agent_name=fence_nfs_export\nplug=10.0.1.11\nexport=/srv/data\nstorage=nfs-data\nidentity=configured";
    cluster.map(map, "fence-method-nfs", options);
    let settings = Settings { agents: bench.path().to_owned(), ..Settings::default() };
    let power = NativePower::new(Arc::clone(&cluster), bench.runner(), settings);
    power.unread([node("worker-1", "")].iter());
    Room { bench, cluster, power }
}

const TABLE: &str = "/srv/data 10.0.1.11(rw,sync)\n/srv/data 10.0.1.12(rw,sync)\n/srv/other 10.0.1.11(rw)\n";

fn of_storage(name: &str) -> FenceScope {
    FenceScope { storage: Some(name.into()), ..FenceScope::default() }
}

#[tokio::test]
async fn a_node_is_cut_off_one_export_and_no_other_and_let_in_again() {
    let room = room(TABLE);
    let (node, lease_deadline) = (node("worker-1", ""), room.bench.lease_deadline(60));
    let plan = room.power.plan(&node).await.unwrap();
    assert_eq!((plan.storage_only.as_deref(), plan.levels[0].identity.clone()), (Some("nfs-data"), Some(Ok(()))));
    assert_eq!(room.power.read(&node, &of_storage("nfs-data")).await, PowerState::On);
    assert_eq!(room.power.off(&node, &of_storage("nfs-data"), &lease_deadline).await.unwrap(), ["nfs"]);
    assert_eq!(room.bench.read("table"), "/srv/data 10.0.1.12(rw,sync)\n/srv/other 10.0.1.11(rw)\n");
    assert_eq!(room.power.read(&node, &of_storage("nfs-data")).await, PowerState::Off);
    assert!(room.bench.read("calls").contains("-u 10.0.1.11:/srv/data\n-f\n"));
    room.power.on(&node, &of_storage("nfs-data"), &lease_deadline).await.unwrap();
    assert_eq!(room.power.read(&node, &of_storage("nfs-data")).await, PowerState::On);
    assert!(room.bench.read("table").contains("/srv/data 10.0.1.11(rw,sync,no_subtree_check)\n"));
}

/// It has booted since, and its kubelet speaks: that is no word against the switch, which lets it in again.
#[tokio::test]
async fn a_node_that_speaks_is_cut_off_its_storage_all_the_same() {
    let room = room(TABLE);
    let (mut node, lease_deadline) = (node("worker-1", ""), room.bench.lease_deadline(60));
    node.conditions.push(Condition { kind: "Ready".into(), status: ConditionStatus::True, ..Condition::default() });
    room.power.off(&node, &of_storage("nfs-data"), &lease_deadline).await.unwrap();
    assert_eq!(room.power.preflight(&node).await.status, ConditionStatus::True);
    assert!(!room.power.is_contradicted(&node, Some(room.bench.now().plus(Duration::from_secs(60)))));
    // A leader of before has written it.
    let (kind, reason) = (FENCE_READY.into(), READS_OFF.into());
    node.conditions.push(Condition { kind, reason, status: ConditionStatus::False, ..Condition::default() });
    assert_eq!(room.power.read(&node, &of_storage("nfs-data")).await, PowerState::Off);
    room.power.on(&node, &of_storage("nfs-data"), &lease_deadline).await.unwrap();
    assert_eq!(room.power.read(&node, &of_storage("nfs-data")).await, PowerState::On);
}

/// A record that cuts the machine's power, or another storage, asks nothing of this one's switch and does nothing by it.
#[tokio::test]
async fn a_storage_proves_nothing_of_the_machine_nor_of_another_storage() {
    let room = room(TABLE);
    let (node, lease_deadline) = (node("worker-1", ""), room.bench.lease_deadline(60));
    for other in [FenceScope::default(), of_storage("san")] {
        assert_eq!(room.power.read(&node, &other).await, PowerState::Unknown, "{other:?}");
        assert!(matches!(room.power.off(&node, &other, &lease_deadline).await, Err(Failed::NotBegun(_))), "{other:?}");
        assert!(matches!(room.power.on(&node, &other, &lease_deadline).await, Err(Failed::NotBegun(_))), "{other:?}");
    }
    assert_eq!(room.bench.read("table"), TABLE);
}

#[tokio::test]
async fn an_export_for_a_whole_network_cuts_no_node_off_and_is_reported() {
    for client in ["10.0.1.0/24", "*", "*.example.com", "@nodes", "node[1-9]"] {
        let room = room(&format!("{TABLE}/srv/data {client}(rw)\n"));
        let node = node("worker-1", "");
        let refusal = room.power.preflight(&node).await;
        assert_eq!((refusal.status, refusal.reason.as_str()), (ConditionStatus::False, "NoAnswer"), "{client}");
        assert!(refusal.message.contains("more than single nodes"), "{client}: {refusal:?}");
        assert!(matches!(
            room.power.off(&node, &of_storage("nfs-data"), &room.bench.lease_deadline(60)).await,
            Err(Failed::Refused(_))
        ));
        assert!(room.bench.read("table").contains("/srv/data 10.0.1.11("), "{client}");
    }
}

#[tokio::test]
async fn a_table_that_cannot_be_read_is_unknown_and_never_off() {
    let room = room(TABLE);
    fs::remove_file(room.bench.path().join("table")).unwrap();
    assert_eq!(room.power.read(&node("worker-1", ""), &of_storage("nfs-data")).await, PowerState::Unknown);
}

/// Only `off` is configured: the node lets itself in as it boots, and nothing is done for it here.
#[tokio::test]
async fn a_storage_without_a_way_back_is_not_waited_for() {
    let room = room(TABLE);
    let agent = room.bench.read("fence_nfs_export");
    let on_target = agent.replace(r#"<action name="on"/>"#, r#"<action name="on" on_target="1"/>"#);
    fs::write(room.bench.path().join("fence_nfs_export"), on_target).unwrap();
    let (node, lease_deadline) = (node("worker-1", ""), room.bench.lease_deadline(60));
    room.power.off(&node, &of_storage("nfs-data"), &lease_deadline).await.unwrap();
    let before = room.bench.read("table");
    assert_eq!(room.power.on(&node, &of_storage("nfs-data"), &lease_deadline).await.unwrap(), Vec::<String>::new());
    assert_eq!(room.bench.read("table"), before);
    room.cluster.map(
        "fence-config-worker-1",
        "fence-method-nfs",
        "agent_name=fence_nfs_export\nplug=a\nexport=b\nidentity=configured",
    );
    let Err(Failed::NotBegun(refusal)) = room.power.on(&node, &of_storage("nfs-data"), &lease_deadline).await else {
        panic!("power has to be turned on")
    };
    assert!(refusal.contains("cannot do on") || refusal.contains("add storage="), "{refusal}");
}
