//! Attached volumes: the CSI driver on each worker, the attacher, and what is asked of both.

use std::{fs, path::PathBuf, time::Duration};

use nodewell_csi::DRIVER;
use nodewell_tests::{cli, wait::until_within};

use super::{Cluster, step};
use crate::{attacher::Attacher, volumes, worker::Worker};

const PROGRAM: &str = "nodewell-csi";
const UNIT: &str = "nodewell-csi.service";
/// The kubelet looks for sockets all the time, and writes its CSINode then.
const REGISTERED: Duration = Duration::from_secs(60);
/// How often the attach-detach controller detached although the node had not unmounted; its name says it twice.
const FORCED: &str = "attach_detach_controller_attachdetach_controller_forced_detaches";

impl Cluster {
    /// Installs the CSI driver on each worker, and waits until the kubelets have registered it. Volumes are attached
    /// for as long as the attacher is not dropped.
    ///
    /// # Panics
    /// If a step fails.
    #[must_use]
    pub fn install_volumes(&self) -> Attacher {
        let driver = step("CSI driver (cargo builds it)", || cli::build(&[PROGRAM]).join(PROGRAM));
        self.apply_text(include_str!("../../files/csi-driver.yaml"));
        let unit = include_str!("../../files/nodewell-csi.service").replace("@VOLUMES@", volumes::INSIDE);
        for worker in &self.workers {
            let inside = worker.inside();
            inside.copy(&driver, "/usr/local/bin/nodewell-csi");
            inside.write(&format!("/etc/systemd/system/{UNIT}"), &unit);
            inside.sh(&format!("systemctl daemon-reload && systemctl enable --quiet --now {UNIT}"));
        }
        step("each kubelet has registered the CSI driver", || self.workers.iter().for_each(|one| self.registered(one)));
        Attacher::start(self.control_plane.client())
    }

    fn registered(&self, worker: &Worker) {
        let path = format!("/apis/storage.k8s.io/v1/csinodes/{}", worker.name());
        until_within(REGISTERED, &format!("{} has registered the CSI driver", worker.name()), || {
            let node = self.api.get(&path)?;
            node["spec"]["drivers"].as_array()?.iter().any(|driver| driver["name"] == DRIVER).then_some(())
        });
    }

    /// Makes a volume; gives its folder on this machine. PersistentVolumes name it as `volumeHandle`.
    ///
    /// # Panics
    /// If there is one of that name.
    #[must_use]
    pub fn make_volume(&self, name: &str) -> PathBuf {
        let folder = self.volumes.folder().join(name);
        fs::create_dir(&folder).unwrap();
        folder
    }

    /// How often kube-controller-manager has detached by force for this reason: `out-of-service`, `timeout`.
    ///
    /// # Panics
    /// If it does not answer.
    #[must_use]
    pub fn forced_detaches(&self, reason: &str) -> f64 {
        let metrics = self.control_plane.controller_manager_metrics();
        let series = format!("{FORCED}{{reason=\"{reason}\"}} ");
        let value = metrics.lines().find_map(|line| line.strip_prefix(&series));
        value.map_or(0.0, |value| value.parse().unwrap())
    }
}
