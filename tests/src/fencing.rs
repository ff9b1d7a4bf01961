//! A node whose machine a simulated BMC turns on and off, and everything that the controller needs for it.

use std::{collections::BTreeMap, sync::Arc};

use nodewell_bmc::{Bmc, COMMUNITY, Manner, PASSWORD, Pdu};
use serde_json::json;

use crate::{
    cluster::{Call, Cluster},
    stand_in::{Machine, Make, StandIn},
};

impl Machine for Bmc {
    fn boot(&self) -> Option<String> {
        Self::boot(self)
    }
}

/// The node and its machine.
pub struct Fenced {
    pub node: StandIn,
    pub bmc: Arc<Bmc>,
}

/// The addresses of a machine.
#[derive(Debug, Clone)]
pub struct MachineAddress {
    pub node: String,
    pub bmc: String,
    /// `power-timeout` of its fence agent: half of it is how long one act may take.
    pub power_timeout_secs: u32,
}

impl Default for MachineAddress {
    fn default() -> Self {
        Self { node: "127.0.0.1".to_owned(), bmc: "127.0.0.1".to_owned(), power_timeout_secs: 3 }
    }
}

/// An outlet of a PDU, the only supply of a machine.
#[derive(Clone, Copy)]
pub struct PduOutlet<'a> {
    pub pdu: &'a Pdu,
    pub number: u8,
}

impl PduOutlet<'_> {
    /// As fence ConfigMaps pin it.
    fn pin(self) -> String {
        format!("127.0.0.1/{}/{}", self.pdu.port, self.number)
    }
}

/// The GUID as `ipmi_sim` takes it, and the same as a kubelet reads it from the firmware.
fn identity(number: u32) -> (String, String) {
    let guid = format!("a1234567890b4def8abc{number:012x}");
    let (a, b, c, d, e) = (&guid[..8], &guid[8..12], &guid[12..16], &guid[16..20], &guid[20..]);
    (guid.clone(), format!("{a}-{b}-{c}-{d}-{e}"))
}

impl Fenced {
    /// A machine that is on, its Node, its ConfigMap and its Secret in namespace `nodewell`. Each `number` is another
    /// machine.
    ///
    /// # Panics
    /// If the BMC cannot be simulated or the server will not have the objects.
    #[must_use]
    pub fn start(cluster: &Cluster, name: &str, number: u32, labels: &[(&str, &str)]) -> Self {
        Self::start_at(cluster, name, number, labels, &MachineAddress::default())
    }

    /// The same, elsewhere than on loopback.
    ///
    /// # Panics
    /// If the BMC cannot be simulated or the server will not have the objects.
    #[must_use]
    pub fn start_at(
        cluster: &Cluster,
        name: &str,
        number: u32,
        labels: &[(&str, &str)],
        address: &MachineAddress,
    ) -> Self {
        let (guid, system_uuid) = identity(number);
        let bmc = Arc::new(Bmc::start_at(&address.bmc, &guid, Manner::Obeys).unwrap());
        let patience = format!("power-timeout={}", address.power_timeout_secs);
        // A simulated BMC listens at a port of its own, and the Secret is bound to that.
        let options = bmc.options();
        let port = options.lines().find_map(|line| line.strip_prefix("ipport=")).unwrap();
        let endpoint = format!("{}:{port}", address.bmc);
        let method = format!("agent_name=fence_ipmilan\n{}", bmc.options().replace("power-timeout=3", &patience));
        let data = json!({
            "config.properties": format!("power_management=ipmi\nsystem_uuid={system_uuid}"), "fence-method-ipmi": method,
        });
        create(
            cluster,
            "configmaps",
            &json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": format!("fence-config-node-{name}") },
                "data": data,
            }),
        );
        create(
            cluster,
            "secrets",
            &json!({
                "apiVersion": "v1", "kind": "Secret",
                "metadata": { "name": format!("secret-fence-method-ipmi-{name}") },
                "stringData": { "password": PASSWORD, "address": endpoint, "node": name },
            }),
        );
        let labels: BTreeMap<String, String> =
            labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let make = Make { name, labels, system_uuid, address: address.node.clone() };
        Self { node: StandIn::start(cluster, &make, Arc::clone(&bmc) as Arc<dyn Machine>), bmc }
    }

    /// The same machine behind an outlet, which is its fencing level 2.
    ///
    /// # Panics
    /// If the server will not have the objects.
    #[must_use]
    pub fn behind(self, cluster: &Cluster, outlet: PduOutlet<'_>) -> Self {
        outlet.pdu.plug_in(outlet.number, &self.bmc);
        let name = self.node.name();
        let path = format!("/api/v1/namespaces/nodewell/configmaps/fence-config-node-{name}");
        let steps = cluster.admin(&Call::get(&path)).1["data"]["config.properties"].as_str().unwrap().to_owned();
        let data = json!({
            "config.properties": format!("{steps}\npower_management.2=pdu\noutlets={}", outlet.pin()),
            "fence-method-pdu": format!("agent_name=fence_apc_snmp\n{}", outlet.pdu.options(outlet.number)),
        });
        let (code, answer) = cluster.admin(&Call::merge(&path, &json!({ "data": data })));
        assert_eq!(code, 200, "{answer}");
        create(
            cluster,
            "secrets",
            &json!({
                "apiVersion": "v1", "kind": "Secret",
                "metadata": { "name": format!("secret-fence-method-pdu-{name}") },
                "stringData": {
                    "community": COMMUNITY, "address": format!("127.0.0.1:{}", outlet.pdu.port), "node": name,
                },
            }),
        );
        self
    }

    /// How often its BMC was ordered to turn it off (`0`) or on (`1`).
    #[must_use]
    pub fn orders(&self, power: &str) -> usize {
        let order = format!("set power {power}");
        self.bmc.orders().iter().filter(|done| done.contains(&order)).count()
    }

    /// The machine dies, as by its power cord.
    pub fn kill(&self) {
        self.bmc.order("0");
    }
}

fn create(cluster: &Cluster, plural: &str, object: &serde_json::Value) {
    let (code, answer) = cluster.admin(&Call::post(&format!("/api/v1/namespaces/nodewell/{plural}"), object));
    assert_eq!(code, 201, "{answer}");
}
