//! A worker's BMC: OpenIPMI's `ipmi_sim` at an address of its own on the control plane's side of the network.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use nodewell_bmc::{Manner, PASSWORD, Simulator, USER};
use nodewell_tests::{process::Process, wait::until_within};
use serde_json::{Value, json};

use super::Number;
use crate::{control_plane, network::Network};

/// As every BMC.
const IPMI: u16 = 623;
const START_LIMIT: Duration = Duration::from_secs(30);

/// What a BMC was ordered or asked.
#[derive(Debug, Clone)]
pub struct Order {
    /// When it came.
    pub at: Timestamp,
    /// `get power`, `set power 0`.
    pub text: String,
}

impl Order {
    /// Of a line of the simulator's log, such as `1790000000.123 get power`.
    fn of(line: &str) -> Option<Self> {
        let (at, text) = line.split_once(' ')?;
        let milliseconds = at.replacen('.', "", 1).parse().ok()?;
        Some(Self { at: Timestamp::from_millisecond(milliseconds).ok()?, text: text.to_owned() })
    }
}

/// Where a BMC writes what it is ordered.
#[derive(Debug, Clone)]
pub struct OrderLog(PathBuf);

impl OrderLog {
    /// All of it, oldest first.
    #[must_use]
    pub fn read(&self) -> Vec<Order> {
        let log = fs::read_to_string(&self.0).unwrap_or_default();
        log.lines().filter_map(Order::of).collect()
    }
}

/// It ends when dropped.
#[derive(Debug)]
pub(super) struct Bmc {
    number: Number,
    address: String,
    folder: PathBuf,
    _simulator: Process,
}

impl Bmc {
    /// Starts one in a folder that has a `machine.sh`, and waits until it answers.
    pub(super) fn start(network: &Arc<Network>, number: Number, folder: &Path) -> Self {
        let address = network.address(number.bmc_last());
        network.add_address(control_plane::PORT, number.bmc_last()).unwrap();
        let (guid, manner) = (number.guid(), Manner::Obeys);
        Simulator { folder, guid: &guid, address: &address, port: IPMI, manner }.write();
        let mut argv = network.enter(control_plane::PORT);
        argv.extend(Simulator::argv(folder));
        let simulator = Process::start(&argv, &folder.join("out")).unwrap();
        let bmc = Self { number, address, folder: folder.to_owned(), _simulator: simulator };
        until_within(START_LIMIT, "the BMC answers", || nodewell_bmc::answers(&bmc.address, IPMI).then_some(()));
        bmc
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    pub(super) fn orders(&self) -> Vec<Order> {
        self.order_log().read()
    }

    pub(super) fn order_log(&self) -> OrderLog {
        OrderLog(self.folder.join("log"))
    }

    /// As docs/fencing.md has it.
    pub(super) fn fencing(&self) -> [Value; 2] {
        let Self { number, address, .. } = self;
        let name = number.name();
        let data = json!({
            "config.properties": format!("power_management=bmc\nsystem_uuid={}", number.system_uuid()),
            "fence-method-bmc": format!("agent_name=fence_ipmilan\nip={address}\nusername={USER}\nlanplus=1\ncipher=3"),
        });
        [
            json!({
                "apiVersion": "v1", "kind": "ConfigMap", "data": data,
                "metadata": { "name": format!("fence-config-{name}"), "namespace": "nodewell" },
            }),
            json!({
                "apiVersion": "v1", "kind": "Secret",
                "metadata": { "name": format!("secret-fence-method-bmc-{name}"), "namespace": "nodewell" },
                "stringData": { "password": PASSWORD, "address": address, "node": name },
            }),
        ]
    }
}
