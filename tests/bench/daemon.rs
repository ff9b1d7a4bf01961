//! `nodewelld` as the bench runs it: started without a helper in between, so that its start can be timed.

use std::{
    ffi::OsString,
    fs::File,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use nodewell_model::{Condition, ConditionStatus, view::DaemonView};
use nodewell_tests::{agent::Plan, http::over_tcp};

use crate::{probe::Probe, programs, usage::Usage, wait};

/// Nothing was read for so long: there is nothing more.
const QUIET: Duration = Duration::from_millis(300);

/// A running agent; killed when dropped.
#[derive(Debug)]
pub(crate) struct Daemon {
    child: Child,
    plan: Plan,
    started: Instant,
}

impl Daemon {
    /// Starts it and waits until it is ready.
    pub(crate) fn start(plan: Plan) -> Self {
        Self::start_in(&[], plan)
    }

    /// The same behind a command that becomes it, such as `nsenter`.
    pub(crate) fn start_in(wrapper: &[OsString], plan: Plan) -> Self {
        let daemon = Self::spawn(wrapper, plan);
        daemon.wait_ready();
        daemon
    }

    /// Starts it; its output goes to a file of its folder.
    pub(crate) fn spawn(wrapper: &[OsString], plan: Plan) -> Self {
        let log = File::create(plan.folder().join("nodewelld.log")).unwrap();
        let argv: Vec<OsString> = wrapper.iter().cloned().chain([programs::path("nodewelld").into()]).collect();
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]).args(plan.args());
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let started = Instant::now();
        Self { child: command.spawn().unwrap(), plan, started }
    }

    /// Waits for `/readyz` and gives the time since the start.
    pub(crate) fn wait_ready(&self) -> Duration {
        wait::until("nodewelld is ready", || {
            let mut probe = Probe::connect(&self.socket()).ok()?;
            probe.get("/readyz").ok().filter(|answer| answer.code == 200)
        });
        self.started.elapsed()
    }

    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(crate) fn usage(&self) -> Usage {
        Usage::of(self.child.id())
    }

    /// A connection that stays open.
    pub(crate) fn probe(&self) -> Probe {
        Probe::connect(&self.socket()).expect("it listens")
    }

    /// The sum of all samples of metric `name` with all of `labels` in them.
    pub(crate) fn metric(&self, name: &str, labels: &[&str]) -> f64 {
        let page = over_tcp(&self.metrics_address(), "/metrics").expect("it serves metrics").body;
        let samples =
            page.lines().filter(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' '])));
        let samples = samples.filter(|line| labels.iter().all(|label| line.contains(label)));
        samples.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.plan.folder().join("socket")
    }

    pub(crate) fn metrics_address(&self) -> String {
        let args = self.plan.args();
        let flag = args.iter().position(|arg| arg == "--metrics-address").expect("a plan names one");
        args[flag + 1].to_string_lossy().into_owned()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The status of condition `name` in `/v1/conditions`.
pub(crate) fn condition(probe: &mut Probe, name: &str) -> Option<ConditionStatus> {
    let conditions: Vec<Condition> = probe.json("/v1/conditions");
    conditions.into_iter().find(|one| one.condition.as_str() == name).map(|one| one.status)
}

/// What the monitor of the kernel log has read, and what it knows it lost.
pub(crate) fn kernel_records(probe: &mut Probe) -> (u64, u64) {
    let daemons: Vec<DaemonView> = probe.json("/v1/daemons");
    let kernel = daemons.into_iter().find(|daemon| daemon.name == "kernel-monitor").expect("it watches the kernel log");
    (kernel.records, kernel.lost)
}

/// Waits until the monitor of the kernel log has nothing more to read, and gives how many records it accounts for.
pub(crate) fn wait_idle(probe: &mut Probe) -> u64 {
    let mut last = (0, Instant::now());
    wait::until("the agent has read everything", || {
        let (read, lost) = kernel_records(probe);
        if read + lost != last.0 {
            last = (read + lost, Instant::now());
        }
        (last.1.elapsed() > QUIET).then_some(last.0)
    })
}
