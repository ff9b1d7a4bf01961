//! A running `nodewell-controller` on a real API server, with all it needs in a folder of its own. It is the user that the
//! packaged roles are for, and a case in which a right was missing has failed.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;
use nodewell_kit::free_port;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    cli::{Outcome, binary},
    cluster::{Call, Cluster, Identity},
    http::over_tcp,
    process::Process,
    wait::until,
};

const FENCES: &str = "/apis/nodewell.dev/v1alpha1/nodefences";
const POLICIES: &str = "/apis/nodewell.dev/v1alpha1/remediationpolicies";
const PERSON: &str = "person";
/// The user that the packaged roles are for.
const CONTROLLER: &str = "nodewell:controller";
const APPROVER: &str = "nodewell:approver";

/// The controller, and how to start it again.
#[derive(Debug)]
pub struct Controller {
    dir: TempDir,
    /// Where its metrics are.
    address: String,
    /// The start of its command line: where it runs.
    enter: Vec<OsString>,
    process: Option<Process>,
}

impl Controller {
    /// Starts one that acts, with `more` at the end of its configuration file.
    ///
    /// # Panics
    /// If it does not come up.
    #[must_use]
    pub fn start(cluster: &Cluster, more: &str) -> Self {
        let mut controller = Self::prepare(cluster, &format!("dry-run = false\n{more}"));
        controller.start_again();
        controller
    }

    /// Its folder and its configuration; nothing runs.
    ///
    /// # Panics
    /// If there is no place for temporary files.
    #[must_use]
    pub fn prepare(cluster: &Cluster, config: &str) -> Self {
        let dir = TempDir::with_prefix("nodewell-controller-").unwrap();
        cluster.write_kubeconfig(&Identity::Controller, dir.path());
        Self::prepare_in(cluster, dir, format!("127.0.0.1:{}", free_port()), Vec::new(), config)
    }

    /// In a folder that has its `kubeconfig`; its command line begins with `enter`, its metrics are at `address`.
    ///
    /// # Panics
    /// If its configuration cannot be written.
    #[must_use]
    pub fn prepare_in(cluster: &Cluster, dir: TempDir, address: String, enter: Vec<OsString>, config: &str) -> Self {
        // A person's commands have a person's rights.
        fs::create_dir(dir.path().join(PERSON)).unwrap();
        cluster.write_kubeconfig(&Identity::Admin, &dir.path().join(PERSON));
        let own = format!("kubeconfig = {:?}\nmetrics-listen = \"{address}\"\n", dir.path().join("kubeconfig"));
        // Others of this machine have the port.
        let webhook = if config.contains("[webhook]") { "" } else { "\n[webhook]\nlisten = \"off\"\n" };
        fs::write(dir.path().join("controller.toml"), own + config + webhook).unwrap();
        Self { dir, address, enter, process: None }
    }

    #[must_use]
    pub fn folder(&self) -> &Path {
        self.dir.path()
    }

    /// # Panics
    /// If it does not come up.
    pub fn start_again(&mut self) {
        let own = [binary("nodewell-controller").into(), "run".into(), "--config".into(), self.config().into()];
        let argv: Vec<OsString> = self.enter.iter().cloned().chain(own).collect();
        self.process = Some(Process::start(&argv, &self.log_path()).unwrap());
        until("the controller answers", || self.get("/healthz").map(drop));
    }

    /// SIGKILL.
    ///
    /// # Panics
    /// If it was refused anything before.
    pub fn kill(&mut self) {
        self.check_rights();
        if let Some(mut process) = self.process.take() {
            process.kill();
        }
    }

    /// It was refused nothing so far, as far as it still answers.
    ///
    /// # Panics
    /// With its log, if a right was missing.
    pub fn check_rights(&self) {
        let refused: Vec<String> = self.metrics().lines().filter(|line| is_refusal(line)).map(str::to_owned).collect();
        assert!(refused.is_empty(), "the packaged roles do not do: {refused:?}\n{}", self.log());
    }

    /// Sends a signal to exactly this process.
    ///
    /// # Panics
    /// If it does not run.
    pub fn signal(&self, signal: Signal) {
        self.process.as_ref().unwrap().signal(signal);
    }

    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Process::pid)
    }

    /// What it has written so far.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    /// The first `Some` of `look`, within `patience`.
    ///
    /// # Panics
    /// With what the controller has logged and would do, if the time is over.
    pub fn until<T>(&self, patience: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(found) = look() {
                return found;
            }
            if Instant::now() >= deadline {
                let plan = self.command(&["plan"]);
                panic!("waited {patience:?} in vain: {what}\n{}\n{}{}", self.log(), plan.stdout, plan.stderr);
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    #[must_use]
    pub fn metrics(&self) -> String {
        self.get("/metrics").unwrap_or_default()
    }

    /// Another command of the program, with this one's configuration.
    ///
    /// # Panics
    /// If it cannot be run.
    #[must_use]
    pub fn command(&self, args: &[&str]) -> Outcome {
        self.command_of(&self.dir.path().join(PERSON), args)
    }

    /// The same, as the user of the `kubeconfig` in `folder`.
    ///
    /// # Panics
    /// If it cannot be run.
    #[must_use]
    pub fn command_of(&self, folder: &Path, args: &[&str]) -> Outcome {
        let mut command = Command::new(binary("nodewell-controller"));
        command.args(args).arg("--config").arg(self.config()).arg("--kubeconfig").arg(folder.join("kubeconfig"));
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Outcome { code: output.status.code().unwrap_or(-1), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    /// Whether its watches are complete.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        over_tcp(&self.address, "/readyz").is_some_and(|answer| answer.status == 200)
    }

    fn get(&self, target: &str) -> Option<String> {
        over_tcp(&self.address, target).map(|answer| answer.body)
    }

    fn config(&self) -> PathBuf {
        self.dir.path().join("controller.toml")
    }

    fn log_path(&self) -> PathBuf {
        self.dir.path().join("log")
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.check_rights();
        }
    }
}

/// Of the metrics: an answer that the user is unknown or may not.
fn is_refusal(line: &str) -> bool {
    let refused = ["code=\"401\"", "code=\"403\""].iter().any(|code| line.contains(code));
    line.starts_with("nodewell_controller_api_requests_total{") && refused
}

/// Our kinds and roles, as an administrator applies them.
///
/// # Panics
/// If the server will not have them.
pub fn apply_manifests(cluster: &Cluster) {
    let real = cluster.as_real();
    real.apply_manifests();
    // It has reported that the policies are in force, and would count as a node that is not well.
    let _ = cluster.admin(&Call::delete("/api/v1/nodes/policy-probed"));
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging");
    for path in ["crds", "rbac/controller/nodewell-controller.yaml", "rbac/approver/nodewell-approver.yaml"] {
        let path = packaging.join(path);
        let outcome = real.kubectl(&["apply", "--filename", &path.to_string_lossy()]);
        assert_eq!(outcome.code, 0, "{outcome:?}");
    }
    let wait = ["wait", "--for=condition=Established", "--timeout=20s", "crd", "--all"];
    let outcome = real.kubectl(&wait);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    wait_for_rights(cluster);
}

/// The server takes a moment to follow its own roles; one right of each binding is asked for.
fn wait_for_rights(cluster: &Cluster) {
    let rights = [
        (CONTROLLER, "patch", "", "nodes", ""),
        (CONTROLLER, "get", "", "secrets", "nodewell"),
        (CONTROLLER, "watch", "coordination.k8s.io", "leases", "kube-node-lease"),
        (CONTROLLER, "create", "", "events", "default"),
        (APPROVER, "list", "certificates.k8s.io", "certificatesigningrequests", ""),
    ];
    for (user, verb, group, resource, namespace) in rights {
        let attributes = json!({ "verb": verb, "group": group, "resource": resource, "namespace": namespace });
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": { "user": user, "resourceAttributes": attributes },
        });
        let call = Call::post("/apis/authorization.k8s.io/v1/subjectaccessreviews", &review);
        until("the roles are in force", || (cluster.admin(&call).1["status"]["allowed"] == true).then_some(()));
    }
}

/// Power for dead nodes, careful in everything but time: tests have little.
#[must_use]
pub fn careful_policy(ready_timeout: &str) -> Value {
    json!({
        "when": "!node.ready || lease.present && lease.age > duration('12s')",
        "mode": "Enforce",
        "nodeStartupGracePeriod": "0s",
        "for": "0s",
        "healthyDelay": "1s",
        "steps": [{ "taint": {} }, { "cordon": {} }, { "powerCycle": { "readyTimeout": ready_timeout } }],
        "budget": { "maxUnavailable": 1, "maxUnavailablePerZone": 1 },
        "storm": { "unhealthy": 1, "cooldown": "1s" },
        "fast": { "silentFor": "15s", "unreachableFrom": 2 },
    })
}

/// A policy.
///
/// # Panics
/// If the server will not have it.
pub fn apply_policy(cluster: &Cluster, name: &str, spec: &Value) {
    let policy = json!({
        "apiVersion": "nodewell.dev/v1alpha1", "kind": "RemediationPolicy", "metadata": { "name": name }, "spec": spec,
    });
    let (code, answer) = cluster.admin(&Call::post(POLICIES, &policy));
    assert_eq!(code, 201, "{answer}");
}

/// The record of `node`, if there is one.
#[must_use]
pub fn fence(cluster: &Cluster, node: &str) -> Option<Value> {
    let (code, fence) = cluster.admin(&Call::get(&format!("{FENCES}/{node}")));
    (code == 200).then_some(fence)
}

/// Why its record is blocked, `REASON: message` each; empty if it is not.
#[must_use]
pub fn blocked_by(cluster: &Cluster, node: &str) -> String {
    let blockers = fence(cluster, node).map(|fence| fence["status"]["blockedBy"].clone()).unwrap_or_default();
    let listed = blockers.as_array().into_iter().flatten().map(|blocker| {
        format!(
            "{}: {}",
            blocker["reason"].as_str().unwrap_or_default(),
            blocker["message"].as_str().unwrap_or_default()
        )
    });
    listed.collect::<Vec<String>>().join("; ")
}

/// The phase of its record; `None` without one.
#[must_use]
pub fn phase(cluster: &Cluster, node: &str) -> Option<String> {
    Some(fence(cluster, node)?["status"]["phase"].as_str()?.to_owned())
}
