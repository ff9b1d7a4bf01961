//! The worked examples of the documentation, as the controller reads them, with the agents that are installed here.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use nodewell_power::native::{NativePower, Settings};
use nodewell_reconcile::power::Power;
use nodewell_remediation::facts::Node;
use serde::Deserialize;

use super::{
    bench::Bench,
    fake::{Fake, node},
};

#[derive(Deserialize)]
struct Object {
    kind: String,
    metadata: Metadata,
    #[serde(default)]
    data: BTreeMap<String, String>,
    #[serde(default, rename = "stringData")]
    string_data: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    namespace: String,
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/fencing")
}

/// Its ConfigMaps and Secrets in a cluster, and the node it speaks of in its line `# node:`.
fn example(name: &str) -> (Fake, Node) {
    let text = fs::read_to_string(folder().join(format!("{name}.yaml"))).unwrap();
    let cluster = Fake::default();
    for part in text.split("\n---\n") {
        let object: Object = serde_saphyr::from_str(part).unwrap();
        assert_eq!(object.metadata.namespace, "nodewell");
        object.data.iter().for_each(|(key, value)| cluster.map(&object.metadata.name, key, value));
        if object.kind == "Secret" {
            let data = object.string_data.into_iter().map(|(key, value)| (key, value.into_bytes())).collect();
            cluster.secrets.lock().unwrap().insert(object.metadata.name, data);
        }
    }
    let about = text.lines().find_map(|line| line.strip_prefix("# node: worker-1")).unwrap();
    let value_of = |name: &str| about.split_once(name).map(|(_, value)| value.trim().to_owned()).unwrap_or_default();
    let node = Node { provider_id: value_of("providerID "), ..node("worker-1", &value_of("systemUUID ")) };
    (cluster, node)
}

/// All but their BMCs, which are nowhere.
pub(crate) async fn fit_the_installed_agents() {
    for (name, storage) in [
        ("aws", None),
        ("gce", None),
        ("azure", None),
        ("openstack", None),
        ("vsphere", None),
        ("scsi", Some("san.csi.example.com")),
    ] {
        let (cluster, node) = example(name);
        let power = NativePower::new(Arc::new(cluster), Bench::new().runner(), Settings::default());
        power.unread([&node].into_iter());
        let plan = power.plan(&node).await.unwrap_or_else(|why| panic!("{name}: {why:?}"));
        assert_eq!((plan.levels[0].identity.clone(), plan.storage_only.as_deref()), (Some(Ok(())), storage), "{name}");
        assert_eq!(plan.levels[0].methods.len(), 1, "{name}");
    }
}

/// Another machine's providerID: the same name in another place.
pub(crate) async fn hold_to_their_node() {
    for (name, wrong) in [
        ("aws", "aws:///eu-west-1a/i-0fff"),
        ("gce", "gce://shop-prod/europe-west1-c/worker-1"),
        (
            "azure",
            "azure:///subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/lab/providers/Microsoft.Compute/virtualMachines/worker-1",
        ),
        ("openstack", "openstack:///00000000-95b9-4c12-8f0f-1a2b3c4d5e6f"),
    ] {
        let (cluster, node) = example(name);
        let node = Node { provider_id: wrong.into(), ..node };
        let power = NativePower::new(Arc::new(cluster), Bench::new().runner(), Settings::default());
        power.unread([&node].into_iter());
        let unproven = power.plan(&node).await.unwrap().levels[0].identity.clone().unwrap().unwrap_err();
        assert!(unproven.contains("another machine"), "{name}: {unproven}");
    }
}

/// An example, up to its BMC, which is nowhere.
fn without_bmc(name: &str) -> (NativePower<Fake>, Node) {
    let (cluster, node) = example(name);
    let port = nodewell_kit::free_port();
    cluster.map("fence-config-worker-1", "fence-method-bmc", &{
        let text = cluster.maps.lock().unwrap()["fence-config-worker-1"]["fence-method-bmc"].clone();
        text.replace("10.0.9.11", "127.0.0.1") + &format!("ipport={port}\n")
    });
    let secret = "secret-fence-method-bmc-worker-1";
    let address = format!("127.0.0.1:{port}").into_bytes();
    let bound = |data: &mut BTreeMap<String, Vec<u8>>| data.insert("address".into(), address);
    cluster.secrets.lock().unwrap().get_mut(secret).map(bound).unwrap();
    let power = NativePower::new(Arc::new(cluster), Bench::new().runner(), Settings::default());
    power.unread([&node].into_iter());
    (power, node)
}

pub(crate) async fn redfish_is_configured_rightly() {
    let (power, node) = without_bmc("redfish");
    let unproven = power.plan(&node).await.unwrap().levels[0].identity.clone().unwrap().unwrap_err();
    assert!(unproven.contains("refused"), "only its BMC is missing: {unproven}");
}

/// Its outlets are the next level.
pub(crate) async fn levels_are_configured_rightly() {
    let (power, node) = without_bmc("levels");
    let plan = power.plan(&node).await.unwrap();
    assert!(plan.levels[0].identity.as_ref().unwrap().is_err(), "{plan:?}");
    assert_eq!((&plan.levels[1].identity, plan.levels[1].methods.len()), (&Some(Ok(())), 2));
    assert_eq!([plan.levels[0].asks_machine, plan.levels[1].asks_machine], [true, false]);
}
