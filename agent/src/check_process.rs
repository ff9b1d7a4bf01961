//! Check processes: processes beside the agent with privileges of their own, `nodewell-checks run NAME`. Each runs
//! several checks and reports over the agent's socket.
//!
//! - A *reporter* is whatever reports under a name of its own (`source`); Node Problem Detector calls it a problem
//!   daemon, and the metrics a monitor. A check process is one or more reporters.
//! - A *claim* is a reporter's statement that a problem holds; it stands until the reporter or evidence ends it. A
//!   *problem* holds while at least one reporter claims it.
//! - The *ledger* is the agent's account in memory of all problems and conditions; SQLite has a copy for the next
//!   start.
//! - A *release* is a pause in which a check process has its devices closed (`nodewell release gpu`), for a reset or a
//!   driver upgrade.
//!
//! What looks at the node has a room: `runner` (devices, asked through a `worker`), `services`, `plugins`,
//! `filesystem`. All of them reach the agent through `report`, and none looks into another.

mod children;
mod command;
mod filesystem;
mod flags;
mod memory;
mod plugins;
mod pod_names;
mod release;
mod report;
mod reporters;
mod runner;
mod service_manager;
mod services;
mod state_file;
mod status_line;
mod system_stops;
pub mod worker;

use std::{future, io, path::PathBuf, rc::Rc};

use nodewell_checks::{
    Settings, WorkerGroup,
    pod_names::{PodNames, folder as pod_folder},
    service::ServiceProbe,
};
use nodewell_client::{Client, Line};
use tokio::signal::unix::{SignalKind, signal};

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use worker::protocol::{Reply, read_line};

pub use children::Children;
pub use command::{ChecksCommand, ChecksCommandLine};
pub use flags::{Group, RunFlags, TestFlags, WorkerFlags};
pub use release::{Release, ReleaseError, ReleaseFile};
pub use reporters::reporters;
pub use services::npd_health_checks;
pub use system_stops::system_stops;

pub(crate) use plugins::try_plugin;
pub(crate) use runner::has_gpu_driver;
pub(crate) use worker::{Stat, TaskName};

use crate::{
    config::Flags as AgentFlags,
    detectors::{pod_names::PodNamesFile, proof::HostRoots},
    hw_counters::HwCountersFile,
    inventory::InventoryFiles,
    runtime::notify,
};

use filesystem::FilesystemCheck;
use plugins::{Confinement, Plugins};
use pod_names::PodNamesWatch;
use report::Link;
use runner::{Runner, RunnerPlan};
use services::{Services, ServicesPlan};
use status_line::StatusLine;
use worker::protocol::WorkerConfig;

/// What a check process is to do.
#[derive(Debug)]
pub struct Setup {
    pub group: Group,
    pub client: Client,
    /// The socket beside which devices are released, if not the agent's own.
    pub releases_of: Option<PathBuf>,
    /// What the config sets of checks.
    pub settings: Settings,
    pub state_dir: Option<PathBuf>,
    pub test_flags: TestFlags,
    /// Health checks of Node Problem Detector's configuration.
    pub health_checks: Vec<ServiceProbe>,
    /// Where rules and plug-ins are, as set for the agent.
    pub flags: AgentFlags,
}

/// Runs one check process until SIGTERM or SIGINT. Fails only where signals cannot be listened to.
pub async fn run(setup: Setup) -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut components = Components::of(&setup)?;
    // It works as soon as it waits: the agent may come later than we do.
    notify::ready();
    tokio::select! {
        () = components.work(&setup) => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    notify::stopping();
    tracing::info!("stopping");
    components.finish().await;
    Ok(())
}

/// What works side by side in a check process; the group decides which of them are there.
struct Components {
    status_line: StatusLine,
    link: Link,
    /// The runner of mounts is a problem daemon of its own: what one of them reports withdraws nothing of the other's.
    mounts: Option<(WorkerGroup, Link)>,
    services: Option<Services>,
    plugins: Option<Plugins>,
}

impl Components {
    fn of(setup: &Setup) -> io::Result<Self> {
        let group = setup.group;
        let status_line = StatusLine::new(if group == Group::Check { FilesystemCheck::IDLE } else { "" });
        let plugins = setup.plugins(&status_line)?;
        let line = Line::from(setup.client.clone());
        let link = |name| Link::followed(line.clone(), name, status_line.clone());
        let mounts = group.mounts_group().map(|worker_group| (worker_group, link(worker_group.as_str())));
        Ok(Self {
            link: link(group.as_str()),
            mounts,
            services: setup.services(&line, &status_line),
            plugins,
            status_line,
        })
    }

    /// Ends only if one of them does, which none should.
    async fn work(&mut self, setup: &Setup) {
        let Self { status_line, link, mounts, services, plugins } = self;
        if let Some(plugins) = plugins {
            plugins.get_ready().await;
        }
        let mounts_link = mounts.as_ref().map(|(_, link)| link);
        let others: Vec<&Link> = mounts_link.into_iter().chain(services.as_ref().map(Services::link)).collect();
        let pod_names = setup.pod_names();
        let plan = |worker_group| setup.plan(worker_group, pod_names.clone());
        let runner = Runner::new(plan(setup.group.worker_group()), link, status_line.clone());
        let mounts_runner =
            mounts.as_ref().map(|(worker_group, link)| Runner::new(plan(*worker_group), link, status_line.clone()));
        tokio::select! {
            () = check(setup.group, link, mounts_link, status_line.clone()) => {}
            () = runner.run() => {}
            () = link.follow(&others) => {}
            () = link.beat(&others) => {}
            () = service_manager::run(status_line.clone()) => {}
            () = for_ever(mounts_runner.map(Runner::run)) => {}
            () = for_ever(services.as_ref().map(|services| services.run(status_line))) => {}
            () = for_ever(plugins.as_mut().map(Plugins::run)) => {}
        }
    }

    /// Each sends its last report.
    async fn finish(self) {
        tokio::join!(
            self.link.finish(),
            if_there(self.mounts.map(|(_, link)| link.finish())),
            if_there(self.services.map(Services::finish)),
            if_there(self.plugins.map(Plugins::finish)),
        );
    }
}

async fn for_ever(part: Option<impl Future<Output = ()>>) {
    match part {
        Some(part) => part.await,
        None => future::pending().await,
    }
}

async fn if_there(part: Option<impl Future<Output = ()>>) {
    if let Some(part) = part {
        part.await;
    }
}

/// What the service manager has made for a check process (`StateDirectory=`).
#[must_use]
pub fn default_state_dir() -> Option<PathBuf> {
    std::env::var_os("STATE_DIRECTORY").map(PathBuf::from).filter(|made| made.is_absolute())
}

async fn check(group: Group, link: &Link, mounts: Option<&Link>, status_line: StatusLine) {
    match group {
        Group::Check => FilesystemCheck::new(HostRoots::default(), status_line).run(link, mounts).await,
        Group::Disk | Group::Gpu => future::pending().await,
    }
}

impl Setup {
    /// Services are looked at in the group that asks only what any user may ask.
    fn services(&self, line: &Line, status_line: &StatusLine) -> Option<Services> {
        let settings = self.settings.services.clone().with_timing(self.test_flags.interval, self.test_flags.deadline);
        let is_wanted = self.group == Group::Check && settings.enabled;
        let npd_health_checks = self.health_checks.clone();
        let plan = ServicesPlan { settings: &settings, npd_health_checks, state_dir: self.state_dir.as_deref() };
        is_wanted.then(|| Services::new(line.clone(), plan, status_line.clone()))
    }

    /// Before this process has children: those of a service run in cgroups of their own.
    fn plugins(&self, status_line: &StatusLine) -> io::Result<Option<Plugins>> {
        if self.group != Group::Check {
            return Ok(None);
        }
        let confinement = Rc::new(Confinement::prepare(notify::is_service()));
        Plugins::new(self.flags.clone(), self.client.clone(), status_line.clone(), confinement).map(Some)
    }

    /// Followed by the group that is root and sees the host's files as they are.
    fn pod_names(&self) -> PodNames {
        let names = PodNames::default();
        if self.group == Group::Check {
            let folder = pod_folder(&self.test_flags.roots());
            PodNamesWatch { folder, names: names.clone(), file: PodNamesFile::of(self.client.path()) }.start();
        }
        names
    }

    fn plan(&self, worker_group: WorkerGroup, pod_names: PodNames) -> RunnerPlan {
        RunnerPlan {
            group: self.group,
            worker_group,
            worker_config: WorkerConfig { roots: self.test_flags.roots(), settings: self.settings.clone() },
            state_dir: self.state_dir.clone(),
            release_socket: self.releases_of.clone().unwrap_or_else(|| self.client.path().to_owned()),
            pod_names,
            inventory_files: InventoryFiles::of(self.client.path()),
            hw_counters_file: HwCountersFile::of(self.client.path()),
            interval: self.test_flags.interval,
            deadline: self.test_flags.deadline,
        }
    }
}
