//! A control-plane host with a controller: a machine on the cluster's network with fence agents and
//! `nodewell-controller`'s package, installed as docs/remediation.md describes.

use std::{os::unix::fs::PermissionsExt, path::Path, sync::Arc, time::Duration};

use nodewell_tests::{
    machine::{Hardware, Inside, KernelLog, Machine, Package},
    wait::until_within,
};

use crate::{control_plane::ControlPlane, network::Network};

const UNIT: &str = "nodewell-controller.service";
const START_LIMIT: Duration = Duration::from_secs(60);
/// As the package's roles name them.
const USER: &str = "nodewell:controller";
const APPROVER: &str = "nodewell:approver";
const GROUP: &str = "nodewell:controllers";
/// What docs/agent-liveness.md has written by `systemctl edit` and into the configuration.
const APPROVER_UNIT: &str = "[Service]\nLoadCredential=approver:/etc/nodewell/approver.kubeconfig\n";
const APPROVER_CONFIG: &str =
    "[approver]\nenabled = true\nkubeconfig = \"/run/credentials/nodewell-controller.service/approver\"\n";
/// Cases and a soak read all records again and again; a day's copies of those that ended would be hundreds.
const RECORDS: &str = "[records]\nkeep-ended = \"15m\"\n";

/// It ends when dropped.
#[derive(Debug)]
pub struct ControllerHost {
    last: u8,
    name: String,
    network: Arc<Network>,
    machine: Machine,
}

impl ControllerHost {
    /// Boots one from `tree`, the `number`th from 1.
    pub(crate) fn boot(network: &Arc<Network>, tree: &Path, number: u8) -> Self {
        let name = format!("c{number}");
        let last = 20 + number;
        network.plug_in(&name, last).unwrap();
        let masked = ["containerd.service", "systemd-udevd.service", "apt-daily.timer", "apt-daily-upgrade.timer"];
        let mut program = vec!["--boot".to_owned()];
        program.extend(masked.map(|unit| format!("systemd.mask={unit}")));
        let hardware = Hardware {
            name: name.clone(),
            is_volatile: true,
            network: Some(network.namespace(&name)),
            kernel_log: KernelLog::Empty,
            program,
            flags: vec![format!("--hostname={name}"), "--resolv-conf=off".to_owned()],
            ..Hardware::of(tree)
        };
        Self { last, machine: Machine::boot_as(&hardware), name, network: Arc::clone(network) }
    }

    /// Installs the controller's package, and starts it once it has its kubeconfig.
    pub(crate) fn install(&self, control_plane: &ControlPlane, package: Package) {
        let machine = self.inside();
        machine.install(package);
        self.write_kubeconfig(control_plane, USER, "/etc/nodewell/controller.kubeconfig");
        let config = format!(
            "dry-run = false\nprobes = [\"{}:6443\"]\n[leader]\nidentity = \"{}\"\n{RECORDS}",
            control_plane.address(),
            self.name
        );
        machine.write("/etc/nodewell/nodewell-controller.toml.d/cluster.toml", config);
        machine.sh(&format!("systemctl enable --now {UNIT}"));
    }

    /// Has it approve agents' requests, by an identity that can do nothing else.
    pub(crate) fn install_approver(&self, control_plane: &ControlPlane) {
        let machine = self.inside();
        self.write_kubeconfig(control_plane, APPROVER, "/etc/nodewell/approver.kubeconfig");
        machine.write("/etc/systemd/system/nodewell-controller.service.d/approver.conf", APPROVER_UNIT);
        machine.write("/etc/nodewell/nodewell-controller.toml.d/approver.toml", APPROVER_CONFIG);
        machine.sh(&format!("systemctl daemon-reload && systemctl restart {UNIT}"));
        self.wait_until_ready();
    }

    fn write_kubeconfig(&self, control_plane: &ControlPlane, user: &str, file: &str) {
        let machine = self.inside();
        machine.write(file, control_plane.kubeconfig(user, GROUP).to_string());
        std::fs::set_permissions(machine.path(file), std::fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// What the controller shows Prometheus.
    ///
    /// # Panics
    /// If it does not answer.
    #[must_use]
    pub fn metrics(&self) -> String {
        self.inside().sh("curl --silent --fail http://127.0.0.1:20258/metrics")
    }

    /// Waits until the controller answers that it is ready.
    ///
    /// # Panics
    /// If it is not within a minute.
    pub fn wait_until_ready(&self) {
        let ready = "curl --silent --fail http://127.0.0.1:20258/readyz";
        until_within(START_LIMIT, &format!("the controller of {} is ready", self.name), || {
            (self.machine.run(["sh", "-c", ready]).code == 0).then_some(())
        });
    }

    /// The machine's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is on the cluster's network.
    #[must_use]
    pub fn address(&self) -> String {
        self.network.address(self.last)
    }

    /// What can be done in it.
    #[must_use]
    pub fn inside(&self) -> Inside {
        self.machine.inside()
    }

    /// Its port at the switch is pulled.
    pub fn cut(&self) {
        self.network.cut(&self.name);
    }

    /// It is plugged in again.
    pub fn join(&self) {
        self.network.join(&self.name);
    }
}
