//! What else a control plane has: kubectl as administrators use it, our manifests, and the controller that signs.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
};

use serde_json::json;

use super::{RealServer, binary};
use crate::{
    cli::Outcome,
    cluster::{Call, Client, Identity},
    process::Process,
    wait::until,
};

impl RealServer {
    /// Runs kubectl as the administrator.
    ///
    /// # Panics
    /// If it cannot be run.
    pub fn kubectl(&self, args: &[&str]) -> Outcome {
        let mut command = Command::new(binary("kubectl"));
        command.arg("--kubeconfig").arg(self.admin_kubeconfig()).args(args);
        // Its cache of what the server knows is this server's alone.
        command.arg("--cache-dir").arg(self.dir.path().join("kubectl-cache"));
        command.stdin(Stdio::null()).output().unwrap().into()
    }

    /// Applies the manifests of the package, once for each server, and waits until the policies are in force.
    ///
    /// # Panics
    /// If the server will not have them.
    pub fn apply_manifests(&self) {
        static APPLIED: Mutex<Vec<u16>> = Mutex::new(Vec::new());
        // A case that failed here says so itself, and no case after it.
        let mut applied = APPLIED.lock().unwrap_or_else(PoisonError::into_inner);
        if applied.contains(&self.ports.apiserver) {
            return;
        }
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/rbac");
        // In the order that the documents give: the namespace first.
        for file in [
            "agent/nodewell-agent.yaml",
            "service-account/nodewell-service-account.yaml",
            "agent/nodewell-admission.yaml",
            "flowschema/nodewell-flowschema.yaml",
            "enroll/nodewell-enroll.yaml",
        ] {
            let path = folder.join(file);
            let outcome = self.kubectl(&["apply", "--filename", &path.to_string_lossy()]);
            assert_eq!(outcome.code, 0, "{outcome:?}");
        }
        self.wait_for_policies();
        applied.push(self.ports.apiserver);
    }

    /// The server takes a moment to follow its own policies; each is seen by what it refuses.
    fn wait_for_policies(&self) {
        let agent = Client::new(&self.kubeconfig(&Identity::Agent("policy-probe".to_owned())));
        let event = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": { "generateName": "probe" },
            "involvedObject": { "kind": "Node", "name": "another" },
        });
        let lease =
            json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "another" } });
        let admin = Client::new(&self.kubeconfig(&Identity::Admin));
        let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "policy-probed" } });
        // There already, where a case failed below.
        let code = admin.call(&Call::post("/api/v1/nodes", &node)).0;
        assert!([201, 409].contains(&code), "{code}");
        let probes = [
            Call::post("/api/v1/namespaces/default/events?dryRun=All", &event),
            Call::post("/apis/coordination.k8s.io/v1/namespaces/nodewell/leases?dryRun=All", &lease),
            Call::merge("/api/v1/nodes/policy-probed/status?dryRun=All", &json!({ "status": { "phase": "x" } })),
        ];
        for probe in probes {
            until("the policies are in force", || (agent.call(&probe).0 == 422).then_some(()));
        }
    }

    /// Starts these controllers of kube-controller-manager, as kubeadm does: each as its own service account, with every time
    /// limit as shipped. They end with what is given back.
    ///
    /// # Panics
    /// If they cannot be started.
    #[must_use]
    pub fn start_controllers(&self, names: &str) -> Process {
        let mut argv = vec![binary("kube-controller-manager").into_os_string()];
        let flags = [
            format!("--kubeconfig={}", self.kubeconfig_file("controller-manager", &Identity::ControllerManager)),
            "--use-service-account-credentials=true".to_owned(),
            format!("--controllers={names}"),
            "--leader-elect=false".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            "--secure-port=0".to_owned(),
        ];
        argv.extend(flags.into_iter().map(std::ffi::OsString::from));
        Process::start(&argv, &self.dir.path().join("controllers.log")).unwrap()
    }

    /// Starts what signs approved requests; it ends with what is given back.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn start_signer(&self) -> Process {
        let file = |name: &str| self.pki.path(name).display().to_string();
        let mut argv = vec![binary("kube-controller-manager").into_os_string()];
        let flags = [
            format!("--kubeconfig={}", self.admin_kubeconfig()),
            format!("--cluster-signing-cert-file={}", file("ca.crt")),
            format!("--cluster-signing-key-file={}", file("ca.key")),
            "--controllers=certificatesigningrequest-signing-controller".to_owned(),
            "--leader-elect=false".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            "--secure-port=0".to_owned(),
        ];
        argv.extend(flags.into_iter().map(std::ffi::OsString::from));
        Process::start(&argv, &self.dir.path().join("signer.log")).unwrap()
    }

    fn admin_kubeconfig(&self) -> String {
        self.kubeconfig_file("admin", &Identity::Admin)
    }

    fn kubeconfig_file(&self, name: &str, identity: &Identity) -> String {
        let path = self.dir.path().join(format!("{name}.kubeconfig"));
        if !path.exists() {
            let new = self.dir.path().join(format!("{name}.kubeconfig.{:?}", std::thread::current().id()));
            fs::write(&new, self.kubeconfig(identity).to_string()).unwrap();
            fs::rename(&new, &path).unwrap();
        }
        path.display().to_string()
    }
}
