//! The cluster as a whole: how it is brought up, and what a case or a person does with it.

mod install;
mod leader;
mod storage;

use std::{
    fmt::Display,
    io::{self, Write},
    path::PathBuf,
    process::Stdio,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use nodewell_tests::{
    cli::Outcome,
    leftovers,
    machine::{self, KernelLog},
    process::bounded,
    real::binary,
    wait::until_within,
};
use tempfile::TempDir;

use crate::{
    TREE,
    api::Api,
    control_plane::ControlPlane,
    controller_host::ControllerHost,
    images,
    network::{self, Network},
    volumes::Volumes,
    worker::{Common, Number, VirtualWorker, Worker},
};

/// Machines boot and kubelets register side by side, on two busy cores.
const NODES_READY: Duration = Duration::from_secs(180);

/// Where each instruction of the machine is emulated.
const EMULATED_READY: Duration = Duration::from_mins(10);

/// Longer than any `kubectl` that waits is asked to.
const KUBECTL: Duration = Duration::from_secs(180);

/// What a cluster has.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Up to nine, with the virtual one: `w1` to `w9`.
    pub workers: u8,
    /// Control-plane hosts with a controller, up to three: `c1` to `c3`.
    pub controllers: u8,
    /// The worker that has the kernel's log; there is one kernel, and what happens to any machine is in it.
    pub kernel_log: Option<u8>,
    /// One more worker, the last one, is a virtual machine: its kernel and its boots are its own.
    pub virtual_worker: bool,
    /// The other workers begin with an older kubelet ([`crate::OLDER_KUBELET`]).
    pub older_kubelets: bool,
    /// Clients find two API servers behind a balancer ([`crate::BALANCER`]).
    pub two_api_servers: bool,
}

impl Plan {
    /// Machines are named `w1` to `w9`.
    pub const MOST_WORKERS: u8 = 9;
    /// Three agree on a leader as two do.
    pub const MOST_CONTROLLERS: u8 = 3;

    fn all_workers(self) -> u8 {
        self.workers + u8::from(self.virtual_worker)
    }
}

impl Default for Plan {
    /// Three workers, two controllers, no kernel log, no virtual machine, one version, one API
    /// server.
    fn default() -> Self {
        Self {
            workers: 3,
            controllers: 2,
            kernel_log: None,
            virtual_worker: false,
            older_kubelets: false,
            two_api_servers: false,
        }
    }
}

/// A running cluster; all of it ends when dropped.
#[derive(Debug)]
pub struct Cluster {
    /// Dropped in this order: machines, what they talk to, the network between, the files.
    controllers: Vec<ControllerHost>,
    workers: Vec<Worker>,
    virtual_worker: Option<VirtualWorker>,
    control_plane: ControlPlane,
    api: Api,
    _network: Arc<Network>,
    volumes: Volumes,
    folder: TempDir,
    _kernel_log: Option<MutexGuard<'static, ()>>,
}

/// There is one kernel: two clusters that read its log would each act on the other's faults.
static KERNEL_LOG: Mutex<()> = Mutex::new(());

impl Cluster {
    /// Brings one up: every Node is Ready, and nothing of nodewell's is installed.
    ///
    /// # Panics
    /// If it does not come up, or has more machines than there are addresses.
    #[must_use]
    pub fn start(plan: Plan) -> Self {
        // The eleventh worker would have the address of `c1`.
        assert!(plan.all_workers() <= Plan::MOST_WORKERS && plan.controllers <= Plan::MOST_CONTROLLERS, "{plan:?}");
        // A case that failed has broken nothing of this.
        let kernel_log = plan.kernel_log.map(|_| KERNEL_LOG.lock().unwrap_or_else(PoisonError::into_inner));
        let tree = TREE.path().unwrap_or_else(|reason| panic!("{reason}"));
        let folder = leftovers::folder("cluster");
        let network = Arc::new(Network::make());
        let images = images::make(folder.path(), &tree);
        let volumes = Volumes::make(folder.path());
        let control_plane =
            step("control plane", || ControlPlane::start(&network, folder.path(), plan.two_api_servers));
        let common = Common {
            network: &network,
            control_plane: &control_plane,
            tree,
            images,
            volumes: volumes.folder(),
            workers: plan.all_workers(),
            older_kubelet: plan.older_kubelets.then(|| crate::older_kubelet().unwrap_or_else(|why| panic!("{why}"))),
        };
        let Machines { workers, controllers, virtual_worker } = step("machines", || machines(&common, plan));
        let api = Api::new(control_plane.client());
        let cluster = Self {
            controllers,
            workers,
            virtual_worker,
            control_plane,
            api,
            _network: network,
            volumes,
            folder,
            _kernel_log: kernel_log,
        };
        step("nodes are Ready", || cluster.wait_until_ready());
        cluster
    }

    /// Removes what clusters left whose processes were killed: files, empty cgroups, names of network namespaces.
    pub fn remove_leftovers() {
        ["cluster", "worker", "guest", "credentials", "machine", "packages", "layers"]
            .into_iter()
            .for_each(leftovers::sweep);
        machine::remove_leftovers();
        network::sweep();
    }

    /// The API server, as its administrator asks it.
    #[must_use]
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// All workers, `w1` first.
    #[must_use]
    pub fn workers(&self) -> &[Worker] {
        &self.workers
    }

    /// The worker that is a virtual machine, where the plan has one; it is none of [`Self::workers`].
    #[must_use]
    pub fn virtual_worker(&self) -> Option<&VirtualWorker> {
        self.virtual_worker.as_ref()
    }

    /// What the Nodes are called.
    fn nodes(&self) -> impl Iterator<Item = &str> {
        self.workers.iter().map(Worker::name).chain(self.virtual_worker.iter().map(VirtualWorker::name))
    }

    /// A worker by its name.
    #[must_use]
    pub fn worker(&self, name: &str) -> Option<&Worker> {
        self.workers.iter().find(|worker| worker.name() == name)
    }

    /// The control-plane hosts with a controller, `c1` first.
    #[must_use]
    pub fn controllers(&self) -> &[ControllerHost] {
        &self.controllers
    }

    /// The administrator's kubeconfig, for kubectl on this machine.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.control_plane.admin_kubeconfig()
    }

    /// Kills the API server, as by a crash of it.
    pub fn stop_api_server(&mut self) {
        self.control_plane.stop_api_server();
    }

    /// Starts it again, and waits until it is ready.
    ///
    /// # Panics
    /// If it does not come up.
    pub fn start_api_server(&mut self) {
        self.control_plane.start_api_server();
    }

    /// The same, if it was killed and not started since.
    ///
    /// # Panics
    /// If it does not come up.
    pub fn start_api_server_if_away(&mut self) {
        self.control_plane.start_api_server_if_away();
    }

    /// Restarts one of its two API servers in an orderly way; `meanwhile` it ends.
    ///
    /// # Panics
    /// If it has one, or that does not end or come up.
    pub fn restart_api_server(&mut self, number: usize, meanwhile: impl FnOnce(&Self)) {
        self.control_plane.end_api_server(number);
        meanwhile(self);
        self.control_plane.start_ended_api_server(number);
    }

    /// Gives the kubelet of a worker credentials that end after `life`, and has it and the agent begin with them.
    ///
    /// # Panics
    /// If they cannot be written, or do not start.
    pub fn shorten_credentials(&self, worker: &Worker, life: Duration) {
        worker.issue_credentials(&self.control_plane, life);
        worker.inside().sh("systemctl restart kubelet nodewell");
    }

    /// Logs and files of the control plane.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// Runs kubectl as the administrator, to its end.
    ///
    /// # Panics
    /// If it cannot be run.
    #[must_use]
    pub fn kubectl(&self, args: &[&str]) -> Outcome {
        let mut command = bounded(KUBECTL, binary("kubectl"));
        command.arg("--kubeconfig").arg(self.kubeconfig()).arg("--cache-dir").arg(self.folder.path().join("kubectl"));
        command.args(args).stdin(Stdio::null()).output().unwrap().into()
    }

    /// The same, which must succeed.
    ///
    /// # Panics
    /// If it fails.
    pub fn must_kubectl(&self, args: &[&str]) -> String {
        let outcome = self.kubectl(args);
        assert_eq!(outcome.code, 0, "kubectl {args:?}: {}{}", outcome.stdout, outcome.stderr);
        outcome.stdout
    }

    fn wait_until_ready(&self) {
        for worker in &self.workers {
            self.api.wait_condition(NODES_READY, worker.name(), "Ready", "True");
        }
        if let Some(worker) = &self.virtual_worker {
            self.api.wait_condition(EMULATED_READY, worker.name(), "Ready", "True");
        }
        // A StatefulSet's pod needs it, and it comes a moment after the namespace.
        until_within(NODES_READY, "pods may be created", || {
            self.api.get("/api/v1/namespaces/default/serviceaccounts/default").map(drop)
        });
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if !thread::panicking() {
            return;
        }
        let looks: [&[&str]; 3] = [
            &[
                "get",
                "nodes,pods,statefulsets,volumeattachments,nodefences,remediationpolicies",
                "--all-namespaces",
                "--output",
                "wide",
            ],
            &["get", "nodefences", "--output", "yaml"],
            &["get", "events", "--all-namespaces", "--sort-by", ".lastTimestamp"],
        ];
        for look in looks {
            let shown = self.kubectl(look);
            eprintln!("--- kubectl {}:\n{}{}---", look.join(" "), shown.stdout, shown.stderr);
        }
    }
}

struct Machines {
    workers: Vec<Worker>,
    controllers: Vec<ControllerHost>,
    virtual_worker: Option<VirtualWorker>,
}

/// All at once: most of a boot is waiting.
fn machines(common: &Common<'_>, plan: Plan) -> Machines {
    thread::scope(|scope| {
        let virtual_worker = plan.virtual_worker.then(|| {
            scope.spawn(|| {
                let worker = VirtualWorker::prepare(common, Number(plan.all_workers()));
                worker.on().unwrap_or_else(|why| panic!("{}: {why}", worker.name()));
                worker
            })
        });
        let workers: Vec<_> = (1..=plan.workers)
            .map(|number| {
                let log = if plan.kernel_log == Some(number) { KernelLog::Shared } else { KernelLog::Empty };
                scope.spawn(move || {
                    let worker = Worker::prepare(common, Number(number), log);
                    worker.on().unwrap_or_else(|why| panic!("{}: {why}", worker.name()));
                    worker
                })
            })
            .collect();
        let hosts: Vec<_> = (1..=plan.controllers)
            .map(|number| scope.spawn(move || ControllerHost::boot(common.network, &common.tree, number)))
            .collect();
        Machines {
            controllers: hosts.into_iter().map(|thread| thread.join().unwrap()).collect(),
            workers: workers.into_iter().map(|thread| thread.join().unwrap()).collect(),
            virtual_worker: virtual_worker.map(|thread| thread.join().unwrap()),
        }
    })
}

/// Reports on stderr what is done, and how long it took.
pub fn step<T>(what: impl Display, act: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    // A terminal that is gone is no reason to end.
    let _ = writeln!(io::stderr(), "cluster: {what} …");
    let done = act();
    let _ = writeln!(io::stderr(), "cluster: {what}: {:.1} s", begun.elapsed().as_secs_f64());
    done
}
