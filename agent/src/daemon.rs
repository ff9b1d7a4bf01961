//! The agent put together: the parts in the order of the data's path, the signals, and the end.

mod cluster;
mod configuration;
mod notices;
mod rules;
mod state;

use std::{io, os::fd::OwnedFd, rc::Rc, sync::Arc, time::Duration};

use nodewell_model::{ConditionSpec, Row};
use nodewell_rules::{Diagnostic, RuleSet};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::{Mutex, mpsc, oneshot, watch},
    task::JoinSet,
};

use crate::{
    check_process::{Children, Group},
    config::{CheckProcesses, Config, Flags},
    detectors::{
        pod_names::{KnownPodNames, PodNamesFile},
        proof::{HostRoots, Prover},
    },
    exporters::{
        self,
        apiserver::{ApiStats, EventsCheckpoint, ExporterHandles},
        metrics::{CheckFiles, MetricSources, Statistics},
    },
    identity::Way,
    injection::RuleInjector,
    inventory::InventoryFiles,
    ledger::{Inputs, LedgerTask, Persistence, persistence},
    monitors::{
        self,
        boot::BootMonitor,
        ledger_sender::{LedgerSender, Report},
    },
    readers::{self, ReaderSetup, Readers},
    runtime::{Spawner, Stop, Tasks, boxed, heap, notify, program::CHECKS, tasks::AtStop},
    shared_state::{Command, SharedState},
    socket::{self, Access, BindError, Door, Grants, SocketFile},
    sources::kmsg::Expectations,
};

pub use rules::{add_own_conditions, load_rules};
pub use state::{Opened, open as open_store};

/// How long everything gets to end: long enough for an announcement by a busy machine. Together with what comes before and
/// after it, it is below the unit's `TimeoutStopSec=` (15 s).
pub(crate) const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);
pub(crate) const BEFORE_AND_AFTER: Duration = Duration::from_millis(1250);

/// Each in a process of its own.
const CHECK_PROCESSES: [(&str, Group); 3] =
    [("check-process-check", Group::Check), ("check-process-disk", Group::Disk), ("check-process-gpu", Group::Gpu)];

/// Notices about other writers of the Node that may wait.
const NOTICES_LIMIT: usize = 64;

/// What ends the agent without a request to stop.
#[derive(Debug, thiserror::Error)]
pub enum Fatal {
    #[error(transparent)]
    Socket(#[from] BindError),
    #[error("cannot start a thread or take a descriptor: {0}")]
    Resources(#[from] io::Error),
    /// What cannot be created again within this process: the service manager restarts the agent.
    #[error("a task that the agent cannot do without has ended; this is a fault of nodewell, please report it")]
    VitalTask,
}

/// The running agent.
struct Agent {
    flags: Flags,
    config: Config,
    tasks: Tasks,
    /// Tasks whose state lives with them: the account itself, the listening sockets.
    vital: JoinSet<()>,
    shared_state: SharedState,
    rules: watch::Sender<Arc<RuleSet>>,
    grants: watch::Sender<Arc<Grants>>,
    /// For check processes that the agent has started.
    reloads: watch::Sender<()>,
    catalogues: mpsc::Sender<Vec<ConditionSpec>>,
    readers: Readers,
    socket_counters: Arc<socket::Counters>,
    ledger_sender: Option<LedgerSender>,
    socket_file: Option<SocketFile>,
    socket_end: Option<SocketEnd>,
}

/// Asks the socket to end, and reports that it has closed.
struct SocketEnd {
    stop: oneshot::Sender<()>,
    closed: oneshot::Receiver<()>,
}

/// The receiving ends that the ledger task takes.
struct Ends {
    reports: mpsc::Receiver<Report>,
    commands: mpsc::Receiver<Command>,
    catalogues: mpsc::Receiver<Vec<ConditionSpec>>,
}

/// Runs the agent until SIGTERM or SIGINT. Must run within a `LocalSet`.
pub async fn run(flags: Flags, config: Config, rules: RuleSet, opened: Opened) -> Result<(), Fatal> {
    let mut hangup = signal(SignalKind::hangup())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut agent = Agent::start(flags, config, rules, opened).await?;
    notify::ready();
    let outcome = loop {
        tokio::select! {
            _ = hangup.recv() => agent.reload().await?,
            _ = terminate.recv() => break Ok(()),
            _ = interrupt.recv() => break Ok(()),
            Some(_) = agent.vital.join_next() => break Err(Fatal::VitalTask),
        }
    };
    agent.stop().await;
    outcome
}

impl Agent {
    async fn start(flags: Flags, config: Config, rules: RuleSet, opened: Opened) -> Result<Self, Fatal> {
        let Opened { activated, store } = opened;
        let saved = store.load(&persistence::READ, state::LOAD_WITHIN).await;
        let (shared_state, commands) = SharedState::with_store(&config.node_name, store);
        shared_state.set_configuration(configuration::taken(&config, &rules));
        let (ledger_sender, reports) = LedgerSender::channel();
        let (catalogues, new_catalogues) = mpsc::channel(1);
        let catalogue = rules.conditions.clone();
        let (rules, rules_in_force) = watch::channel(Arc::new(rules));
        let grants = watch::Sender::new(Arc::new(Grants::new(&config.grants)));
        let expectations = Expectations::default();
        let roots = HostRoots { kubelet: config.kubelet_dir.clone(), ..HostRoots::default() };
        let readers = Readers::new(ReaderSetup {
            config: config.clone(),
            rules: rules_in_force.clone(),
            ledger_sender: ledger_sender.clone(),
            prover: Prover::new(roots, KnownPodNames::new(PodNamesFile::of(&config.socket.path))),
            stats: shared_state.stats().clone(),
            expectations: expectations.clone(),
            kernel_log: activated.kernel_log.map(Arc::new),
            cursors: saved.as_deref().map(persistence::cursors).unwrap_or_default(),
        });
        let tasks = Tasks::new(Stop::new()?);
        let mut agent = Self {
            flags,
            config,
            tasks,
            vital: JoinSet::new(),
            shared_state,
            rules,
            grants,
            reloads: watch::Sender::new(()),
            catalogues,
            readers,
            socket_counters: Arc::default(),
            ledger_sender: None,
            socket_file: None,
            socket_end: None,
        };
        agent.spawn_ledger(catalogue, saved, Ends { reports, commands, catalogues: new_catalogues });
        agent.spawn_socket(activated.listener, expectations)?;
        agent.readers.fit(&mut agent.tasks).await?;
        agent.spawn_exporters(&ledger_sender).await;
        agent.spawn_boot_monitor(ledger_sender.clone());
        agent.spawn_check_processes(ledger_sender.clone());
        agent.spawn_state_monitor(&ledger_sender);
        let reloads = agent.reloads.subscribe();
        agent.tasks.supervise("heap", AtStop::Drop, move || heap::trim(reloads.clone()));
        agent.ledger_sender = Some(ledger_sender);
        Ok(agent)
    }

    fn spawn_ledger(&mut self, catalogue: Vec<ConditionSpec>, saved: Option<Vec<Row>>, ends: Ends) {
        let Ends { reports, commands, catalogues } = ends;
        let reported_subjects = self.config.socket.limits.subjects_per_daemon;
        let limits = nodewell_ledger::Limits::default().with_reported_subjects(reported_subjects);
        let monitors = self.rules.borrow().rules.iter().map(|rule| Arc::clone(&rule.monitor)).collect();
        let delivers = Way::of(&self.config) != Way::Standalone;
        let persistence = Persistence::new(self.shared_state.store().clone(), monitors, delivers);
        let task = LedgerTask::new(&self.config.node_name, catalogue, self.shared_state.clone(), persistence)
            .with_limits(limits)
            .with_mutes(self.config.active_mutes());
        let expected = readers::expected(&self.rules.borrow(), &self.config);
        let inputs = Inputs { reports, commands, catalogues };
        self.vital.spawn_local(boxed(task.resumed(expected, saved).run(inputs)));
    }

    /// Reports how the previous boot ended; without a state directory nothing is known of it.
    fn spawn_boot_monitor(&mut self, ledger_sender: LedgerSender) {
        let Some(state_dir) = self.config.state_dir.clone() else { return };
        let monitor = BootMonitor {
            state_dir,
            journal: self.config.journal.enabled,
            journal_directory: self.config.journal.directory.clone(),
            ledger_sender,
            shared_state: self.shared_state.clone(),
            store: self.shared_state.store().clone(),
            stop: self.tasks.stop().clone(),
        };
        self.tasks.supervise("boot-monitor", AtStop::Finish, move || monitor.clone().run());
    }

    /// Under a service manager they are services of their own.
    fn spawn_check_processes(&mut self, ledger_sender: LedgerSender) {
        let spawn = match self.config.check_processes {
            CheckProcesses::Spawn => true,
            CheckProcesses::None => false,
            CheckProcesses::Auto => !notify::is_service(),
        };
        if spawn {
            let children = Children {
                socket: self.config.socket.path.clone(),
                flags: self.flags.clone(),
                reloads: self.reloads.subscribe(),
                state_dir: self.config.state_dir.clone(),
                spawner: Spawner::beside_us(CHECKS),
                ledger_sender,
                stop: self.tasks.stop().clone(),
            };
            for (name, group) in CHECK_PROCESSES {
                let children = children.clone();
                self.tasks.supervise(name, AtStop::Finish, move || children.clone().supervise(group));
            }
        }
    }

    /// Reports whether state is saved; without a state directory that is not expected.
    fn spawn_state_monitor(&mut self, ledger_sender: &LedgerSender) {
        let Some(directory) = self.config.state_dir.clone() else { return };
        let (store, ledger_sender) = (self.shared_state.store().clone(), ledger_sender.clone());
        self.tasks.supervise("agent-state", AtStop::Drop, move || {
            monitors::agent_state::run(store.clone(), directory.clone(), ledger_sender.clone())
        });
    }

    fn spawn_socket(&mut self, activated: Option<OwnedFd>, expectations: Expectations) -> Result<(), Fatal> {
        let listener = match Door::open(activated, &self.config.socket.path) {
            Ok(Door { listener, file }) => {
                self.socket_file = file;
                listener
            }
            // Two agents would both write the Node. Without a socket, though, the rest can work.
            Err(error @ BindError::Taken { .. }) => return Err(error.into()),
            Err(error) => {
                tracing::error!(%error, "no local socket: `nodewell status` cannot reach this agent");
                return Ok(());
            }
        };
        let kmsg = self.config.kmsg.path.display().to_string();
        let injector = Arc::new(RuleInjector::new(self.rules.subscribe(), expectations, kmsg));
        let limits = self.config.socket.limits.clone();
        let access = Access { grants: self.grants.subscribe(), rate: limits.rate };
        let features = ["events-follow", "clear", "inject", "report", "reasons", "inventory", "mute", "ack", "seen-by"];
        let api = socket::Api::new(self.shared_state.clone(), injector, access, &features)
            .with_inventory(InventoryFiles::of(&self.config.socket.path));
        let counters = Arc::clone(&self.socket_counters);
        let (stop, stopped) = oneshot::channel();
        let (ended, closed) = oneshot::channel();
        self.vital.spawn_local(boxed(async move {
            socket::serve(listener, api, limits, counters, async move { _ = stopped.await }).await;
            let _ = ended.send(());
        }));
        self.socket_end = Some(SocketEnd { stop, closed });
        Ok(())
    }

    async fn spawn_exporters(&mut self, ledger_sender: &LedgerSender) {
        let shared_state = self.shared_state.clone();
        self.tasks.supervise("notify", AtStop::Drop, move || notify::run(shared_state.clone()));
        let sources = MetricSources {
            api: self.spawn_apiserver(ledger_sender),
            shared_state: self.shared_state.clone(),
            rules: self.rules.subscribe(),
            socket: Arc::clone(&self.socket_counters),
            store: self.shared_state.store().clone(),
            statistics: Rc::new(Statistics::new(self.config.exporters.statistics.enabled, self.config.cluster.clone())),
            cluster: self.config.cluster.as_deref().map(Rc::from),
            check_files: CheckFiles::of(&self.config.socket.path),
        };
        exporters::start(&mut self.tasks, &mut self.vital, &self.config, sources).await;
    }

    fn spawn_apiserver(&mut self, ledger_sender: &LedgerSender) -> Arc<ApiStats> {
        let stats = Arc::<ApiStats>::default();
        let way = Way::of(&self.config);
        if way == Way::Standalone {
            return stats;
        }
        let settings = self.config.clone();
        let checkpoint = EventsCheckpoint::default();
        let (notices, received) = mpsc::channel(NOTICES_LIMIT);
        let handles = ExporterHandles {
            shared_state: self.shared_state.clone(),
            stats: stats.clone(),
            notices: Some(notices),
            checkpoint,
        };
        let (received, ledger_sender) = (Rc::new(Mutex::new(received)), ledger_sender.clone());
        self.tasks.supervise("notices", AtStop::Drop, move || notices::report(received.clone(), ledger_sender.clone()));
        let stop = self.tasks.stop().clone();
        self.tasks.supervise("apiserver", AtStop::Finish, move || {
            cluster::export(way.clone(), settings.clone(), handles.clone(), stop.clone())
        });
        stats
    }

    /// Takes new rules if they are good as a whole; otherwise the old ones stay in force.
    async fn reload(&mut self) -> Result<(), Fatal> {
        notify::reloading();
        match self.reread() {
            Ok((config, rules)) => {
                self.config = config;
                let (count, grants, mutes) = (rules.rules.len(), self.config.grants.len(), self.config.mutes.len());
                self.grants.send_replace(Arc::new(Grants::new(&self.config.grants)));
                // The catalogue first: a finding of a new rule must find its condition. The ledger outlives us.
                let _ = self.catalogues.send(rules.conditions.clone()).await;
                self.shared_state.tell(Command::ConfigureMutes(self.config.active_mutes())).await;
                let taken = configuration::taken(&self.config, &rules);
                self.rules.send_replace(Arc::new(rules));
                self.shared_state.set_configuration(taken);
                self.reloads.send_replace(());
                self.readers.fit(&mut self.tasks).await?;
                tracing::info!(rules = count, grants, mutes, "reloaded the rules, grants and mutes");
            }
            Err(diagnostics) => {
                diagnostics.iter().for_each(|diagnostic| tracing::error!("{diagnostic}"));
                tracing::error!(
                    errors = diagnostics.len(),
                    "there are errors; the old rules, grants and mutes stay in force"
                );
            }
        }
        notify::ready();
        Ok(())
    }

    /// The config's grants and mutes, its rule files and the rules in them, as they are now.
    fn reread(&self) -> Result<(Config, RuleSet), Vec<Diagnostic>> {
        let (config, needs_restart) = self.config.with_rules_of(&Config::load(&self.flags)?);
        if needs_restart {
            tracing::warn!(
                "the configuration changed beyond rules, grants and mutes; that takes effect at the next restart"
            );
        }
        let rules = load_rules(&config)?;
        Ok((config, rules))
    }

    /// In the order of the data: the socket accepts no more connections, the sources stop, the exporters flush.
    async fn stop(self) {
        notify::stopping();
        tracing::info!("stopping");
        // Reports first: what was taken is still exported.
        if let Some(SocketEnd { stop, closed }) = self.socket_end {
            let _ = stop.send(());
            let _ = tokio::time::timeout(BEFORE_AND_AFTER, closed).await;
        }
        for late in self.tasks.drain(SHUTDOWN_GRACE).await {
            tracing::warn!(task = late, "did not end in time and is left behind");
        }
        state::save_everything(self.ledger_sender, self.shared_state.store(), BEFORE_AND_AFTER).await;
        self.readers.leave_kernel_log();
        if let Some(file) = self.socket_file {
            file.remove();
        }
    }
}
