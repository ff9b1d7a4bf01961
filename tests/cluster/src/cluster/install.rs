//! Installing nodewell as its documents describe: the agent's package on the workers, the controller's on the
//! control-plane hosts, kinds, roles, BMC settings.

use std::{path::Path, thread, time::Duration};

use nodewell_tests::machine::Package;

use super::{Cluster, step};
use crate::worker::{VirtualWorker, Worker};

/// In the order in which docs/remediation.md and docs/identity.md apply them.
const MANIFESTS: [&str; 5] = [
    "crds",
    "rbac/controller/nodewell-controller.yaml",
    "rbac/people/nodewell-people.yaml",
    "rbac/agent/nodewell-agent.yaml",
    "rbac/agent/nodewell-admission.yaml",
];

/// A new leader takes its Lease within 17 s, and asks all BMCs then.
const FENCES_READY: Duration = Duration::from_secs(60);

impl Cluster {
    /// Installs both packages everywhere, and waits until the controllers are ready.
    ///
    /// # Panics
    /// If a step fails.
    pub fn install(&self) {
        step("packages (cargo builds what is not built)", || (Package::built(), Package::controller()));
        step("kinds, roles, BMC settings", || self.apply());
        step("nodewell on workers and control-plane hosts", || self.install_everywhere());
    }

    /// Has the controllers approve what agents ask for by `nodewell enroll`, as docs/agent-liveness.md sets it up.
    ///
    /// # Panics
    /// If a step fails.
    pub fn install_approver(&self) {
        self.apply_shipped("rbac/approver/nodewell-approver.yaml");
        self.controllers.iter().for_each(|host| host.install_approver(&self.control_plane));
    }

    /// Waits until the leader, where there is one, has proven that each worker could be turned off.
    ///
    /// # Panics
    /// If it has not within a minute.
    pub fn wait_until_fences_are_ready(&self) {
        step("each worker could be turned off", || {
            for node in self.nodes().filter(|_| !self.controllers.is_empty()) {
                self.api.wait_condition(FENCES_READY, node, "FenceReady", "True");
            }
        });
    }

    /// Applies the manifest in `yaml`.
    ///
    /// # Panics
    /// If the API server refuses it.
    pub fn apply_text(&self, yaml: &str) {
        let file = self.folder().join("manifest.yaml");
        std::fs::write(&file, yaml).unwrap();
        self.must_kubectl(&["apply", "--filename", &file.to_string_lossy()]);
    }

    fn apply(&self) {
        MANIFESTS.into_iter().for_each(|manifest| self.apply_shipped(manifest));
        let fencing = self.workers.iter().map(Worker::fencing);
        let fencing = fencing.chain(self.virtual_worker.iter().map(VirtualWorker::fencing));
        let objects: Vec<String> = fencing.flatten().map(|object| object.to_string()).collect();
        self.apply_text(&objects.join("\n---\n"));
    }

    fn apply_shipped(&self, manifest: &str) {
        let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
        self.must_kubectl(&["apply", "--filename", &packaging.join(manifest).to_string_lossy()]);
    }

    fn install_everywhere(&self) {
        thread::scope(|scope| {
            for worker in &self.workers {
                scope.spawn(|| worker.inside().install(Package::built()));
            }
            if let Some(worker) = &self.virtual_worker {
                scope.spawn(|| worker.install(Package::built()));
            }
            for host in &self.controllers {
                scope.spawn(|| {
                    host.install(&self.control_plane, Package::controller());
                    host.wait_until_ready();
                });
            }
        });
    }
}
