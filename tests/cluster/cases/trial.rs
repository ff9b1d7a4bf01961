//! The trial beside Node Problem Detector, by the commands of docs/from-npd.md: its pod runs on a real kubelet, and
//! shows what is in the kernel's log and in the node's journal. It writes no Node, no Event and no file of the node,
//! and nothing is left of it. Node Problem Detector's binary is not here: its writer is played.

use std::{collections::BTreeSet, env, fs, iter, path::Path, process::Stdio, time::Duration};

use jiff::Timestamp;
use nodewell_cluster::{
    CLUSTER, Cluster, Plan, TREE, images, step,
    worker::{Ext4, Worker},
};
use nodewell_model::view::NodeView;
use nodewell_tests::{
    book::{commands, workspace},
    cli::Outcome,
    leftovers,
    machine::{Inside, Package, is_starting},
    process::bounded,
    real::binary,
    release,
    suite::{Need, Suite},
    wait::until_within,
};
use serde_json::{Value, json};
use tempfile::TempDir;

const SOON: Duration = Duration::from_secs(120);
/// A namespace goes with the last of its pods.
const LONG: Duration = Duration::from_secs(180);
const NODE: &str = "w1";
const NAMESPACE: &str = "nodewell-trial";
const MANIFEST: &str = "packaging/trial/daemonset.yaml";
/// What the manifest begins with, which an administrator replaces.
const URL: &str = "http://packages.example.com/nodewell/nodewell-0.1.0-linux-x86_64.tar.gz";
const SUM: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// Where the node serves the tarball.
const SERVED: &str = "/srv/packages";
const PORT: u16 = 8099;
/// The manifest has images by their short names.
const BUSYBOX: &str = "docker.io/library/busybox:1.36";
/// A quick build's program is three times as large as a release's, and all of it is kept in memory.
const LIMIT: &str = "limits: { memory: 64Mi }";
const LIMIT_OF_QUICK_BUILDS: &str = "limits: { memory: 192Mi }";

const NPD: &str = "node-problem-detector";
/// What its stock kernel monitor knows.
const NPDS: [&str; 2] = ["KernelDeadlock", "ReadonlyFilesystem"];
const KUBELETS: [&str; 5] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"];
/// By the names under which the API server notes down what they own.
const WRITERS: [&str; 3] = ["kubelet", "kube-controller-manager", NPD];

const PACKAGES: Need = Need::Other(release::packages_unmet);
/// The manifest is for these nodes; others have a tarball of their own.
const X86_64: Need = Need::Other(|| (!cfg!(target_arch = "x86_64")).then(|| "needs an x86-64 machine".to_owned()));

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("trial").case_with(
        &[Need::LongSuite, X86_64, PACKAGES, CLUSTER, Need::KernelLog, Need::LoopDevice],
        "shows_what_is_planted_and_writes_nothing",
        shows_what_is_planted_and_writes_nothing,
    );
}

fn shows_what_is_planted_and_writes_nothing() {
    let cluster = Cluster::start(Plan { workers: 1, controllers: 0, kernel_log: Some(1), ..Plan::default() });
    let worker = cluster.worker(NODE).unwrap();
    let trial = step("tarball, images, manifest", || Trial::prepare(&cluster, worker));
    beat(&cluster, "False");
    step("the trial's pod runs and has looked", || {
        trial.must_type(&commands("from-npd.md", "kubectl apply -f packaging/trial"));
        until_within(SOON, "it has looked", || trial.status().filter(|view| !is_starting(view)));
    });
    let disk = step("faults are planted, and shown", || shows_what_is_planted(&trial, worker));
    beat(&cluster, "True");
    let pod = trial.pod();
    assert_eq!(pod["status"]["containerStatuses"][0]["restartCount"], 0, "{pod}");
    let volumes = pod["spec"]["volumes"].as_array().unwrap();
    assert!(volumes.iter().all(|one| one["projected"].is_null() && one["secret"].is_null()), "no credentials: {pod}");
    assert_untouched(&cluster, "True");
    step("it is deleted", || {
        trial.must_type(&commands("from-npd.md", "kubectl delete -f packaging/trial"));
        assert_eq!(cluster.api().get(&format!("/api/v1/namespaces/{NAMESPACE}")), None);
        assert_eq!(worker.inside().sh("pgrep nodewell || true"), "", "it runs, and is deleted");
    });
    assert_untouched(&cluster, "True");
    let files = "ls -d /etc/nodewell* /var/lib/nodewell* /run/nodewell* /usr/bin/nodewell* 2>/dev/null || true";
    assert_eq!(worker.inside().sh(files), "", "files of the node");
    disk.unmount("/mnt");
}

/// In the kernel's log and in the journal; gives the disk with the fault.
fn shows_what_is_planted<'a>(trial: &Trial<'_>, worker: &'a Worker) -> Ext4<'a> {
    let disk = unknown_disk(trial, worker);
    disk.mount("/mnt");
    disk.fail();
    worker.inside().sh("systemctl restart kubelet");
    until_within(SOON, "its account names the disk", || trial.status().filter(|view| knows(view, &disk)));
    let page = commands("from-npd.md", "kubectl -n nodewell-trial logs");
    let printed = until_within(SOON, "its log has both", || {
        let printed = trial.type_in(&page);
        let (logged, _) = parts(&printed.stdout);
        let has_disk = logged.iter().any(|line| line.contains("Ext4Error") && disk.is_named_in(line));
        let has_kubelet = logged.iter().any(|line| line.contains("KubeletStart"));
        (printed.code == 0 && has_disk && has_kubelet).then_some(printed.stdout)
    });
    let (_, status) = parts(&printed);
    let shows = |text: &str| status.iter().any(|line| line.contains(text));
    assert!(shows("DiskUnhealthy") && shows(disk.device()), "{printed}");
    disk
}

/// What the page's two commands print: lines of the log, which name their pod, and the status.
fn parts(printed: &str) -> (Vec<&str>, Vec<&str>) {
    printed.lines().partition(|line| line.starts_with("[pod/nodewell-trial-"))
}

/// One that the trial has nothing of. There is one kernel, and in its log may be an older fault of a disk of that name,
/// which ends for an agent with its checks, and not for this one.
fn unknown_disk<'a>(trial: &Trial<'_>, worker: &'a Worker) -> Ext4<'a> {
    let mut others = Vec::new();
    loop {
        let disk = worker.ext4();
        let view = until_within(SOON, "the trial answers", || trial.status());
        if !knows(&view, &disk) {
            return disk;
        }
        others.push(disk);
    }
}

fn knows(view: &NodeView, disk: &Ext4<'_>) -> bool {
    let mut problems = view.conditions.iter().flat_map(|condition| &condition.problems);
    problems.any(|problem| problem.subject.as_deref() == Some(disk.device()))
}

/// The trial as an administrator has it: a folder with the manifest.
struct Trial<'a> {
    cluster: &'a Cluster,
    folder: TempDir,
}

impl<'a> Trial<'a> {
    /// The tarball lies where the node reaches it, and the images where no registry is asked.
    fn prepare(cluster: &'a Cluster, worker: &Worker) -> Self {
        let folder = leftovers::folder("from-npd");
        let inside = worker.inside();
        let image = images::debian(folder.path(), &TREE.path().unwrap());
        inside.copy(&image, "/root/debian.tar");
        inside.sh("ctr --namespace k8s.io images import /root/debian.tar && rm /root/debian.tar");
        inside.sh(&format!("ctr --namespace k8s.io images tag localhost/busybox:1 {BUSYBOX}"));
        let (name, sum) = serve(folder.path(), inside);
        let url = format!("http://{}:{PORT}/{name}", worker.address());
        let manifest = folder.path().join(MANIFEST);
        fs::create_dir_all(manifest.parent().unwrap()).unwrap();
        fs::write(manifest, with(&url, &sum)).unwrap();
        Self { cluster, folder }
    }

    /// As a person does in that folder; how it ended.
    fn type_in(&self, script: &str) -> Outcome {
        let usual = env::var_os("PATH").unwrap_or_default();
        let folders = iter::once(binary("kubectl").with_file_name("")).chain(env::split_paths(&usual));
        let mut command = bounded(LONG, "bash");
        command.args(["-e", "-o", "pipefail", "-c", script]).current_dir(self.folder.path());
        command.env("PATH", env::join_paths(folders).unwrap()).env("HOME", self.folder.path());
        command.env("KUBECONFIG", self.cluster.kubeconfig()).stdin(Stdio::null());
        command.output().unwrap().into()
    }

    /// The same; it must succeed.
    #[track_caller]
    fn must_type(&self, script: &str) {
        let outcome = self.type_in(script);
        assert_eq!(outcome.code, 0, "{script}\n{outcome:?}");
    }

    /// Its account of the node, while its pod runs.
    fn status(&self) -> Option<NodeView> {
        let exec = ["--namespace", NAMESPACE, "exec", "daemonset/nodewell-trial", "--"];
        let asked = self.cluster.kubectl(&[&exec[..], &["/nodewell/usr/bin/nodewell", "status", "--json"]].concat());
        serde_json::from_str(&asked.stdout).ok()
    }

    /// The one that it has.
    fn pod(&self) -> Value {
        let pods = self.cluster.api().get(&format!("/api/v1/namespaces/{NAMESPACE}/pods")).unwrap();
        assert_eq!(pods["items"].as_array().map(Vec::len), Some(1), "{pods}");
        let pod = pods["items"][0].clone();
        assert!(pod["status"]["phase"] == "Running" && pod["spec"]["nodeName"] == NODE, "{pod}");
        pod
    }
}

/// The node serves the tarball to its pods; gives its name and sum.
fn serve(folder: &Path, inside: Inside) -> (String, String) {
    let packages = folder.join("packages");
    release::make("tarball", &[], &packages, &[Package::built().path()], None);
    inside.copy_folder(&packages, SERVED);
    inside.sh(&format!("systemd-run --quiet --unit=packages busybox httpd -f -p {PORT} -h {SERVED}"));
    let listed = inside.sh(&format!("cd {SERVED} && sha256sum *"));
    let (sum, name) = listed.split_once("  ").unwrap();
    (name.to_owned(), sum.to_owned())
}

/// The manifest as it is shipped, with this address and this sum.
fn with(url: &str, sum: &str) -> String {
    let mut text = fs::read_to_string(workspace().join(MANIFEST)).unwrap();
    let mut changes = vec![(URL, url), (SUM, sum)];
    // One that is named is of a release.
    changes.extend(env::var_os("NODEWELL_DEB").is_none().then_some((LIMIT, LIMIT_OF_QUICK_BUILDS)));
    for (shipped, own) in changes {
        assert_eq!(text.matches(shipped).count(), 1, "{MANIFEST} is another one: {shipped}");
        text = text.replace(shipped, own);
    }
    text
}

/// All that Node Problem Detector has, as it patches them.
fn beat(cluster: &Cluster, status: &str) {
    let now = Timestamp::now().strftime("%FT%TZ").to_string();
    let conditions = NPDS.map(|name| {
        json!({ "type": name, "status": status, "reason": "ByNpd", "message": "its own",
            "lastTransitionTime": now, "lastHeartbeatTime": now })
    });
    let patch = json!({ "status": { "conditions": conditions } }).to_string();
    let flags = ["--subresource=status", "--type=strategic", "--field-manager", NPD, "--patch", &patch];
    cluster.must_kubectl(&[&["patch", "node", NODE][..], &flags].concat());
}

/// No Node and no Event is the trial's, and Node Problem Detector's conditions are as it wrote them last.
#[track_caller]
fn assert_untouched(cluster: &Cluster, status: &str) {
    let node = cluster.api().node(NODE).unwrap();
    let writers = members(&node["metadata"]["managedFields"], "manager");
    assert!(writers.contains(NPD) && writers.iter().all(|name| WRITERS.contains(name)), "{writers:?}");
    let conditions = members(&node["status"]["conditions"], "type");
    let is_known = |name: &&str| KUBELETS.contains(name) || NPDS.contains(name);
    assert!(conditions.iter().all(is_known), "{conditions:?}");
    for name in NPDS {
        let condition = cluster.api().condition_of(NODE, name).unwrap();
        assert_eq!((&condition["status"], &condition["reason"]), (&json!(status), &json!("ByNpd")), "{condition}");
    }
    let events = cluster.api().get("/api/v1/events").unwrap();
    let writers = members(&events["items"], "reportingComponent");
    assert!(!writers.is_empty() && writers.iter().all(|name| !name.contains("nodewell")), "{writers:?}");
}

/// A member of each object of a list.
fn members<'v>(list: &'v Value, key: &str) -> BTreeSet<&'v str> {
    list.as_array().into_iter().flatten().filter_map(|one| one[key].as_str()).collect()
}
