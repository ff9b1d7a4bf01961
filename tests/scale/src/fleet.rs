//! The exporters: each with a shared state of its own, moved by hand instead of by a ledger.

use std::sync::Arc;

use jiff::Timestamp;
use nodewell_agent::{
    exporters::apiserver::{self, ApiStats, ApiserverConfig, EventsCheckpoint, ExporterHandles},
    shared_state::{Command, SharedState},
};
use nodewell_model::{
    BootId, ConditionSpec, ConditionStatus, EventRecord, Name, Origin, Severity,
    view::{ConditionView, NodeView},
};
use nodewell_rules::{LoadPlan, load};
use tokio::{sync::mpsc, task::JoinHandle};

/// One exporter at work. It ends when dropped.
#[derive(Debug)]
pub struct Exporter {
    pub name: String,
    pub stats: Arc<ApiStats>,
    shared_state: SharedState,
    task: JoinHandle<()>,
    _commands: mpsc::Receiver<Command>,
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Exporter {
    /// Starts with a shared state that has nothing to report yet.
    #[must_use]
    pub fn start(config: ApiserverConfig) -> Self {
        let name = config.node_name.clone();
        let (shared_state, commands) = SharedState::new(&name);
        let stats = Arc::<ApiStats>::default();
        let handles = ExporterHandles {
            shared_state: shared_state.clone(),
            stats: Arc::clone(&stats),
            notices: None,
            checkpoint: EventsCheckpoint::default(),
        };
        let task = tokio::spawn(apiserver::run(config, handles, std::future::pending()));
        Self { name, stats, shared_state, task, _commands: commands }
    }

    /// The account of the node is now this.
    pub fn publish(&self, conditions: Vec<Arc<ConditionView>>) {
        let apiserver = self.shared_state.view().apiserver.clone();
        let node = self.name.clone();
        self.shared_state.publish(NodeView {
            node,
            conditions,
            daemons: Vec::new(),
            apiserver,
            hardware: Vec::new(),
            refused: Vec::new(),
            mutes: Vec::new(),
            configuration: None,
        });
    }

    /// How many Events wait for their delivery.
    #[must_use]
    pub fn undelivered(&self) -> u64 {
        self.shared_state.view().apiserver.undelivered
    }

    /// The kernel has logged a line about `subject`.
    ///
    /// # Panics
    /// If `reason` is no name.
    pub fn happen(&self, reason: &str, subject: &str, time: Timestamp) {
        let id = self.shared_state.events().last_id() + 1;
        let boot_id = BootId::from_bytes([7; 16]);
        self.shared_state.events().extend([EventRecord {
            id,
            origin: Origin::Kmsg { boot_id, sequence: id },
            boot_id: Some(boot_id),
            severity: Severity::Error,
            time,
            last_time: time,
            reason: Name::new(reason).unwrap(),
            message: format!("{subject}: I/O error, sector 123456 op 0x1:(WRITE) flags 0x800"),
            subject: Some(subject.to_owned()),
            source: "kernel-monitor".to_owned(),
            pod_uid: None,
            from_peer: false,
            condition: None,
            count: 1,
            test: false,
        }]);
    }
}

/// Every condition of the shipped rules, healthy: what an agent publishes on most days.
///
/// # Panics
/// If the shipped rules have errors.
#[must_use]
pub fn healthy(transition: Timestamp) -> Vec<Arc<ConditionView>> {
    let loaded = load(&LoadPlan::default());
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    let view = |condition: &ConditionSpec| ConditionView {
        condition: condition.condition.clone(),
        status: ConditionStatus::False,
        reason: condition.healthy_reason.clone(),
        message: condition.healthy_message.clone(),
        transition,
        problems: Vec::new(),
    };
    loaded.set.conditions.iter().map(|condition| Arc::new(view(condition))).collect()
}

/// `healthy` with a problem in `condition`.
///
/// # Panics
/// If `condition` is no name.
#[must_use]
pub fn broken(healthy: &[Arc<ConditionView>], condition: &str, transition: Timestamp) -> Vec<Arc<ConditionView>> {
    let turned = |view: &Arc<ConditionView>| {
        if view.condition.as_str() != condition {
            return Arc::clone(view);
        }
        Arc::new(ConditionView {
            status: ConditionStatus::True,
            reason: Name::new(&format!("{condition}Broken")).unwrap(),
            message: "sda: I/O error, sector 123456 op 0x1:(WRITE) flags 0x800; also sdb, sdc".to_owned(),
            transition,
            ..ConditionView::clone(view)
        })
    };
    healthy.iter().map(turned).collect()
}

/// The names of `count` nodes.
#[must_use]
pub fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("node-{number:05}")).collect()
}
