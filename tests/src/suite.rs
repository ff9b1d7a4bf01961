//! The list of cases and what each needs; a case whose needs are not met here is skipped with the reason, and counted.

mod longest;

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use libtest_mimic::{Arguments, Completion, Failed, Trial};

use crate::{
    cgroup, clock,
    cluster::Cluster,
    disk, gpus, journal, kmsg,
    machine::{self, Release, Tree},
    real::{self, RealServer},
    wire,
};

/// What a machine may lack.
#[derive(Debug, Clone, Copy)]
pub enum Need {
    Root,
    /// Root, and a kernel log that takes writes.
    KernelLog,
    /// Root, a free loop device, ext4.
    LoopDevice,
    /// Root, and cgroups that can be made.
    Cgroup,
    /// Root, and this cgroup controller, by its name of version 1.
    Controller(&'static str),
    /// Root, `systemd-journald` and a private mount namespace.
    Journald,
    /// A C compiler, for clocks of a program's own.
    ShiftedClock,
    /// Root, and a tree of this release that boots in a container.
    Machine(Release),
    /// Root, and network namespaces that can be made.
    Wire,
    /// A GPU of NVIDIA's with its driver.
    NvidiaGpu,
    /// kube-controller-manager beside the real API server.
    ControllerManager,
    /// Time: only the long suite takes it.
    LongSuite,
    /// A package whose programs run on glibc 2.28 and later, named by `NODEWELL_DEB`.
    OldGlibc,
    /// What another harness needs: why this machine cannot, if it cannot.
    Other(fn() -> Option<String>),
}

impl Need {
    /// Why the machine cannot run a case that has this need.
    fn unmet(self) -> Option<String> {
        match self {
            Self::Root => (!nix::unistd::geteuid().is_root()).then(|| "needs root".to_owned()),
            Self::KernelLog => kmsg::unmet(),
            Self::LoopDevice => disk::unmet(),
            Self::Cgroup => cgroup::unmet(),
            Self::Controller(name) => cgroup::controller_unmet(name),
            Self::Journald => journal::unmet(),
            Self::ShiftedClock => clock::unmet(),
            Self::Machine(release) => machine::unmet(Tree::of(release)),
            Self::Wire => wire::unmet(),
            Self::NvidiaGpu => gpus::unmet(),
            Self::ControllerManager => real::controllers_missing(),
            Self::LongSuite => std::env::var_os("NODEWELL_LONG").is_none().then(|| LONG.to_owned()),
            Self::OldGlibc => std::env::var_os("NODEWELL_DEB").is_none().then(|| OLD_GLIBC.to_owned()),
            Self::Other(unmet) => unmet(),
        }
    }
}

const LONG: &str = "a long proof: `make e2e` runs it";
const OLD_GLIBC: &str = "needs a package that runs on glibc 2.28: name it in NODEWELL_DEB";

/// All cases of the binary.
#[derive(Default)]
pub struct Suite {
    trials: Vec<Trial>,
    /// The file that is listing its cases.
    behaviour: &'static str,
}

/// Few enough that a machine with two cores meets every deadline.
const AT_ONCE: usize = 6;

static SKIPPED: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());
static ON_DOUBLE: AtomicUsize = AtomicUsize::new(0);
static ON_REAL: AtomicUsize = AtomicUsize::new(0);

impl Suite {
    /// The cases that follow belong to this behaviour.
    pub fn behaviour(&mut self, name: &'static str) -> &mut Self {
        self.behaviour = name;
        self
    }

    /// A case that runs everywhere.
    pub fn case(&mut self, name: &'static str, case: fn()) -> &mut Self {
        self.case_with(&[], name, case)
    }

    /// A case with needs.
    pub fn case_with(&mut self, needs: &'static [Need], name: &'static str, case: fn()) -> &mut Self {
        let name = format!("{}::{name}", self.behaviour);
        let shown = name.clone();
        self.trials.push(Trial::ignorable_test(name, move || match needs.iter().find_map(|need| need.unmet()) {
            Some(reason) => Ok(skip(shown, reason)),
            None => run(&shown, case),
        }));
        self
    }

    /// A case that runs on the double and on the real server; Nodes are its own, the server may be shared.
    pub fn api(&mut self, name: &'static str, case: fn(&Cluster)) -> &mut Self {
        self.on_double(name, case).on_real(name, Cluster::shared_real, case)
    }

    /// A case that runs on both, and stops the server.
    pub fn api_alone(&mut self, name: &'static str, case: fn(&Cluster)) -> &mut Self {
        self.on_double(name, case).on_real(name, Cluster::own_real, case)
    }

    /// A long proof on a real server of its own, for `make e2e`.
    pub fn long(&mut self, name: &'static str, case: fn(&Cluster)) -> &mut Self {
        if std::env::var_os("NODEWELL_LONG").is_some() {
            return self.on_real(name, Cluster::own_real, case);
        }
        let name = format!("{}::{name}", self.behaviour);
        let shown = name.clone();
        let trial = Trial::ignorable_test(name, move || Ok(skip(shown, LONG.to_owned())));
        self.trials.push(trial.with_kind("real"));
        self
    }

    /// A case with faults that only the double can play.
    pub fn on_double(&mut self, name: &'static str, case: fn(&Cluster)) -> &mut Self {
        let name = format!("{}::{name}", self.behaviour);
        let shown = format!("[double] {name}");
        let trial = Trial::ignorable_test(name, move || {
            ON_DOUBLE.fetch_add(1, Ordering::Relaxed);
            run(&shown, || case(&Cluster::double()))
        });
        self.trials.push(trial.with_kind("double"));
        self
    }

    /// A case that only the real server can show; it may be shared.
    pub fn real(&mut self, name: &'static str, case: fn(&Cluster)) -> &mut Self {
        self.on_real(name, Cluster::shared_real, case)
    }

    /// The same, with needs of its own.
    pub fn real_shared_with(&mut self, needs: &'static [Need], name: &'static str, case: fn(&Cluster)) -> &mut Self {
        self.on_real_with(needs, name, Cluster::shared_real, case)
    }

    /// The same on a server of its own.
    pub fn real_alone(&mut self, name: &'static str, case: fn(&Cluster)) -> &mut Self {
        self.on_real(name, Cluster::own_real, case)
    }

    /// The same on a server of its own, with needs of its own.
    pub fn real_with(&mut self, needs: &'static [Need], name: &'static str, case: fn(&Cluster)) -> &mut Self {
        self.on_real_with(needs, name, Cluster::own_real, case)
    }

    fn on_real(&mut self, name: &'static str, cluster: fn() -> Cluster, case: fn(&Cluster)) -> &mut Self {
        self.on_real_with(&[], name, cluster, case)
    }

    fn on_real_with(
        &mut self,
        needs: &'static [Need],
        name: &'static str,
        cluster: fn() -> Cluster,
        case: fn(&Cluster),
    ) -> &mut Self {
        let name = format!("{}::{name}", self.behaviour);
        let shown = format!("[real] {name}");
        let trial = Trial::ignorable_test(name, move || {
            let unmet = || needs.iter().find_map(|need| need.unmet());
            if let Some(reason) = real::version().err().or_else(unmet) {
                return Ok(skip(shown, reason));
            }
            ON_REAL.fetch_add(1, Ordering::Relaxed);
            run(&shown, || case(&cluster()))
        });
        self.trials.push(trial.with_kind("real"));
        self
    }

    /// Runs what the command line asks for, ends what was shared, and prints what ran where.
    #[must_use]
    pub fn run(self) -> std::process::ExitCode {
        // Most cases wait for timers of the agent: more of them at once cost little.
        self.run_at_once(AT_ONCE)
    }

    /// The same, with no more than `most` cases at once if the command line does not set a number.
    #[must_use]
    pub fn run_at_once(self, most: usize) -> std::process::ExitCode {
        let mut arguments = Arguments::from_args();
        arguments.test_threads.get_or_insert(most);
        let conclusion = libtest_mimic::run(&arguments, self.trials);
        RealServer::end_shared();
        machine::remove_copies();
        summary();
        conclusion.exit_code()
    }
}

/// libtest-mimic turns a panic into a failure.
fn run(name: &str, case: impl FnOnce()) -> Result<Completion, Failed> {
    longest::timed(name, case);
    Ok(Completion::Completed)
}

fn skip(name: String, reason: String) -> Completion {
    let completion = Completion::ignored_with(format!("SKIP: {reason}"));
    SKIPPED.lock().unwrap().push((name, reason));
    completion
}

/// What a case that runs leaves out on this machine, named and counted like a case that is skipped.
///
/// # Panics
/// If another case panicked in here.
pub fn leave_out(part: impl Into<String>, reason: impl Into<String>) {
    SKIPPED.lock().unwrap().push((part.into(), reason.into()));
}

fn summary() {
    let (double, real) = (ON_DOUBLE.load(Ordering::Relaxed), ON_REAL.load(Ordering::Relaxed));
    if double + real > 0 {
        let named = |name: &str, version: Result<String, String>| version.map(|version| format!("{name} {version}"));
        let server = named("kube-apiserver", real::version()).unwrap_or_else(|missing| missing);
        let controllers =
            named("kube-controller-manager", real::controllers_version()).unwrap_or_else(|missing| missing);
        eprintln!("API cases: {double} on the double, {real} on the real server ({server}; {controllers})");
    }
    let skipped = SKIPPED.lock().unwrap();
    for (name, reason) in skipped.iter() {
        eprintln!("SKIP {name}: {reason}");
    }
    eprintln!("{} skipped", skipped.len());
    if let Some(line) = longest::line() {
        eprintln!("{line}");
    }
}
