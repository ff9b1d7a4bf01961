//! The exporter against a scripted server on loopback: every answer has its reaction.

mod conditions;
mod events;
mod lease;
mod outage;
mod restarts;
mod server;

use std::{path::PathBuf, sync::Arc, time::Duration};

use jiff::Timestamp;
use nodewell_model::{
    ConditionStatus, Name,
    view::{ApiserverView, ConditionView, NodeView},
};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
    time::timeout,
};

use super::{
    ApiStats, ApiserverConfig, EventsCheckpoint, ExporterHandles, LeaseConfig, LeaseMode, Notice, RetryPolicy, run,
};
use crate::shared_state::{Command, SharedState};
use server::{DEADLINE, Reply, Server};

/// The exporter at work, and what moves it.
struct Bench {
    shared_state: SharedState,
    stats: Arc<ApiStats>,
    notices: mpsc::Receiver<Notice>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
    commands: mpsc::Receiver<Command>,
}

/// All waits in milliseconds; those that a test does not look at never end.
fn config(kubeconfig: PathBuf) -> ApiserverConfig {
    let ms = Duration::from_millis;
    ApiserverConfig {
        heartbeat: Duration::from_secs(3600),
        min_change_interval: ms(5),
        clear_hold: ms(20),
        request_timeout: ms(2000),
        retry: RetryPolicy {
            first: ms(5),
            most_urgent: ms(20),
            spread: ms(50),
            most: ms(50),
            forbidden: ms(30),
            missing: ms(30),
            most_retry_after: Duration::from_secs(5),
        },
        file_check: ms(20),
        file_check_failing: ms(10),
        flush_grace: DEADLINE,
        lease: LeaseConfig { mode: LeaseMode::Never, ..LeaseConfig::default() },
        ..ApiserverConfig::new(kubeconfig, "n1")
    }
}

impl Bench {
    fn start(config: ApiserverConfig) -> Self {
        let (shared_state, commands) = SharedState::new("n1");
        Self::start_on(shared_state, commands, EventsCheckpoint::default(), config)
    }

    fn start_on(
        shared_state: SharedState,
        commands: mpsc::Receiver<Command>,
        checkpoint: EventsCheckpoint,
        config: ApiserverConfig,
    ) -> Self {
        let stats = Arc::<ApiStats>::default();
        let (sender, notices) = mpsc::channel(8);
        let handles = ExporterHandles {
            shared_state: shared_state.clone(),
            stats: stats.clone(),
            notices: Some(sender),
            checkpoint,
        };
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(run(config, handles, async {
            let _ = stopped.await;
        }));
        Self { shared_state, stats, notices, stop: Some(stop), task, commands }
    }

    fn set(&self, conditions: &[(&str, ConditionStatus)]) {
        let condition = |&(name, status): &(&str, ConditionStatus)| ConditionView {
            condition: Name::new(name).unwrap(),
            status,
            reason: Name::new(&format!("{name}{status}")).unwrap(),
            message: "for people".into(),
            transition: "2026-01-02T03:04:05Z".parse::<Timestamp>().unwrap(),
            problems: Vec::new(),
        };
        let apiserver = self.shared_state.view().apiserver.clone();
        let conditions = conditions.iter().map(|wanted| condition(wanted).into()).collect();
        self.shared_state.publish(NodeView {
            node: "n1".into(),
            conditions,
            daemons: Vec::new(),
            apiserver,
            hardware: Vec::new(),
            refused: Vec::new(),
            mutes: Vec::new(),
            configuration: None,
        });
    }

    async fn until(&self, what: &str, reached: impl Fn(&ApiserverView) -> bool) -> ApiserverView {
        let mut view = self.shared_state.watch();
        let reached = timeout(DEADLINE, view.wait_for(|view| reached(&view.apiserver))).await;
        reached
            .unwrap_or_else(|_| panic!("{what}: {:?}", self.shared_state.view().apiserver))
            .unwrap()
            .apiserver
            .clone()
    }

    /// Ends it as a panic does.
    async fn abort(&mut self) {
        self.task.abort();
        assert!((&mut self.task).await.unwrap_err().is_cancelled());
    }

    async fn stop(&mut self) {
        let _ = self.stop.take().unwrap().send(());
        timeout(DEADLINE, &mut self.task).await.unwrap().unwrap();
    }

    fn answers(&self, code: u16) -> u64 {
        self.stats.requests().iter().filter(|(_, seen, _)| *seen == code).map(|(_, _, count)| count).sum()
    }
}
