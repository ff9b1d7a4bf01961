//! Plug-ins: programs of rule files that are run in the check process `check`. Each file of Node Problem Detector
//! reports under a name of its own (`source`), and all native plug-ins under one together. Such a reporter is a
//! [`Daemon`] here.

mod confinement;
mod daemon;
mod pipe;
mod run;
mod start;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, io, rc::Rc, sync::Arc, time::Duration};

use nodewell_checks::plugin::RunResult;
use nodewell_client::Client;
use nodewell_rules::{
    LoadPlan, Prose, RuleSet, load_plugins,
    plugin::{PluginMonitor, PluginTask, Task},
};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
    task::{JoinHandle, spawn_blocking},
    time::{Instant, sleep, timeout},
};

use crate::{
    check_process::{memory::forget_rules, status_line::StatusLine},
    config::{Config, Flags},
};

use daemon::Daemon;
use run::Job;

pub(super) use confinement::Confinement;

/// How often it looks whether all daemons are at work.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// The first rounds wait no longer for rule files; they are read within a tenth of a second.
const READ_FIRST_WITHIN: Duration = Duration::from_secs(1);
/// For the last reports of all daemons.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// All plug-ins of this node.
pub(super) struct Plugins {
    flags: Flags,
    client: Client,
    status_line: StatusLine,
    confinement: Rc<Confinement>,
    reload: Signal,
    /// The files are being read for the first time.
    reading: Option<Reading>,
    daemons: BTreeMap<Arc<str>, Running>,
    /// The tasks of daemons that are no longer wanted, until the agent has taken that.
    leaving: BTreeMap<Arc<str>, JoinHandle<()>>,
}

/// A [`Daemon`] whose task runs.
struct Running {
    monitors: Vec<PluginMonitor>,
    stop: watch::Sender<StopRequest>,
    task: JoinHandle<()>,
}

/// Whether a daemon is to stop, and what becomes of its reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopRequest {
    None,
    /// It is wanted again, later: what is wrong stays.
    Retain,
    /// It is no longer wanted: what it reported is over.
    Withdraw,
}

/// Rule files may lie on a disk that does not answer: a thread of its own reads them.
type Reading = JoinHandle<Option<(RuleSet, String)>>;

/// A daemon's name and what it runs.
type Sources = BTreeMap<Arc<str>, Vec<PluginMonitor>>;

impl Plugins {
    /// Fails only where signals cannot be listened to.
    pub(super) fn new(
        flags: Flags,
        client: Client,
        status_line: StatusLine,
        confinement: Rc<Confinement>,
    ) -> io::Result<Self> {
        let reload = signal(SignalKind::hangup())?;
        let reading = Some(read(&flags));
        let (daemons, leaving) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { flags, client, status_line, confinement, reload, reading, daemons, leaving })
    }

    /// Waits for the files to be read for the first time. What only that runs need not stay in memory then.
    pub(super) async fn get_ready(&self) {
        let late = Instant::now() + READ_FIRST_WITHIN;
        while self.reading.as_ref().is_some_and(|reading| !reading.is_finished()) && Instant::now() < late {
            sleep(Duration::from_millis(2)).await;
        }
    }

    /// Runs what the rule files list, and reads them again at a reload; never returns.
    pub(super) async fn run(&mut self) {
        loop {
            if let Some(sources) = self.load().await {
                self.apply(sources).await;
            }
            forget_rules();
            // Nothing is looked after where nothing is run.
            while tokio::select! {
                _ = self.reload.recv() => false,
                () = sleep(LOOK_EVERY), if !self.daemons.is_empty() => true,
            } {
                self.restart_ended();
            }
            tracing::info!("reads its plug-ins again");
        }
    }

    /// A clean stop: nothing is left running.
    pub(super) async fn finish(mut self) {
        let names: Vec<_> = self.daemons.keys().cloned().collect();
        for name in &names {
            self.daemons[name].stop.send_replace(StopRequest::Retain);
        }
        let all_ended = async {
            for (_, running) in std::mem::take(&mut self.daemons) {
                let _ = running.task.await;
            }
            for (_, task) in std::mem::take(&mut self.leaving) {
                let _ = task.await;
            }
        };
        if timeout(STOP_TIMEOUT, all_ended).await.is_err() {
            tracing::warn!("a plug-in did not end in time");
        }
        self.confinement.clear().await;
    }

    /// What is to be run; `None` where rules or configuration have errors, which the agent reports.
    async fn load(&mut self) -> Option<Sources> {
        let reading = self.reading.take().unwrap_or_else(|| read(&self.flags));
        let Some((set, node_name)) = reading.await.ok().flatten() else {
            tracing::warn!("rules or configuration have errors (see `nodewell check`): plug-ins stay as they are");
            return None;
        };
        self.confinement.set_node_name(node_name);
        Some(sources(set))
    }

    /// Daemons whose part has not changed are not disturbed.
    async fn apply(&mut self, sources: Sources) {
        let known = std::mem::take(&mut self.daemons);
        for (name, running) in known {
            match sources.get(&name) {
                Some(monitors) if *monitors == running.monitors => drop(self.daemons.insert(name, running)),
                Some(_) => running.end().await,
                None => drop(self.leaving.insert(name, running.withdraw())),
            }
        }
        self.leaving.retain(|_, task| !task.is_finished());
        for (name, monitors) in sources {
            self.keep_name(&name).await;
            if !self.daemons.contains_key(&name) {
                let running = self.start(&name, monitors);
                self.daemons.insert(name, running);
            }
        }
        self.status_line.part("plugins", summary(&self.daemons));
    }

    /// What reports under this name from now on says what holds: its last withdrawal is not waited for.
    async fn keep_name(&mut self, name: &str) {
        if let Some(task) = self.leaving.remove(name) {
            task.abort();
            let _ = task.await;
        }
    }

    fn start(&self, name: &Arc<str>, monitors: Vec<PluginMonitor>) -> Running {
        let (stop, asked) = watch::channel(StopRequest::None);
        let daemon = Daemon::new(Arc::clone(name), monitors.clone(), Rc::clone(&self.confinement));
        let task = tokio::task::spawn_local(daemon.run(self.client.clone(), self.status_line.clone(), asked));
        Running { monitors, stop, task }
    }

    /// A daemon that ended unasked has a fault of ours: the others go on, and it is started again.
    fn restart_ended(&mut self) {
        let ended = self.daemons.iter().filter(|(_, running)| running.task.is_finished());
        let ended: Vec<_> = ended.map(|(name, running)| (Arc::clone(name), running.monitors.clone())).collect();
        for (name, monitors) in ended {
            tracing::error!(daemon = &*name, "plug-ins ended unasked, will restart");
            let running = self.start(&name, monitors);
            self.daemons.insert(name, running);
        }
    }
}

impl Running {
    /// It is started again at once.
    async fn end(self) {
        self.stop.send_replace(StopRequest::Retain);
        let _ = self.task.await;
    }

    /// Returns the task, which ends once the agent has taken that this daemon is no more.
    fn withdraw(self) -> JoinHandle<()> {
        self.stop.send_replace(StopRequest::Withdraw);
        self.task
    }
}

/// Runs a plug-in once, for a user who tries it by hand; `None` if it is no program. Must run within a `LocalSet`.
pub(crate) async fn try_plugin(task: &PluginTask, node_name: String) -> Option<RunResult> {
    let confinement = Rc::new(Confinement::prepare(false));
    confinement.set_node_name(node_name);
    // No stop is sent: the sender lives as long as the run.
    let (_going, stop) = watch::channel(false);
    let finished = Job::of(task)?.run(&confinement, stop).await;
    confinement.clear().await;
    finished.result
}

fn read(flags: &Flags) -> Reading {
    let flags = flags.clone();
    spawn_blocking(move || load(&flags))
}

/// The plug-ins that the rule files list and this node's name, as the agent has them.
fn load(flags: &Flags) -> Option<(RuleSet, String)> {
    let config = Config::load(flags).ok()?;
    let loaded = load_plugins(&LoadPlan { prose: Prose::SkimShipped, ..config.load_plan() });
    loaded.diagnostics.is_empty().then_some((loaded.set, config.node_name))
}

/// What is run as a program, by the daemon that reports it.
pub(super) fn sources(set: RuleSet) -> Sources {
    let mut sources = Sources::new();
    for mut monitor in set.plugins {
        monitor.tasks.retain(|task| matches!(task.task, Task::Run { .. }));
        if !monitor.tasks.is_empty() {
            sources.entry(Arc::clone(&monitor.source)).or_default().push(monitor);
        }
    }
    sources
}

/// For the status line; nothing where nothing is run.
fn summary(daemons: &BTreeMap<Arc<str>, Running>) -> String {
    let tasks =
        daemons.values().flat_map(|running| &running.monitors).map(|monitor| monitor.tasks.len()).sum::<usize>();
    if tasks == 0 { String::new() } else { format!("runs {tasks} plug-in(s)") }
}
