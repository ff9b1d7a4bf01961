//! Exporters, the last stage: they show what the ledger holds to the world outside the agent. (The local socket is one
//! too; it is in `socket`.)
//!
//! - The *ledger* is the agent's account in memory of all problems and conditions; SQLite (the store) has a copy.
//! - The *shared state* is what the ledger publishes for exporters: a view of all conditions, and the event log.
//! - The *event log* is the newest Events in memory, of a bounded number, each with an id that grows by one.

pub mod apiserver;
pub mod console;
pub mod journal;
pub mod metrics;
pub mod textfile;

use nodewell_settings::Part;
use nodewell_tls::MetricsTls;
use tokio::task::JoinSet;

use self::{metrics::MetricSources, textfile::TextfileSettings};
use crate::{
    config::{Config, StatisticsConfig},
    runtime::{Tasks, tasks::AtStop},
    shared_state::SharedState,
};

/// What an operator can set of them: a table for each. `[apiserver]` is set beside the identity that it goes with.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExporterSettings {
    pub statistics: StatisticsConfig,
    pub metrics_tls: MetricsTls,
    pub textfile: TextfileSettings,
}

/// The tables, in the order in which a config has them.
pub(crate) fn tables() -> Vec<Part<ExporterSettings>> {
    vec![
        Part::of(|it: &mut ExporterSettings| &mut it.statistics),
        Part::of(|it: &mut ExporterSettings| &mut it.metrics_tls),
        Part::of(|it: &mut ExporterSettings| &mut it.textfile),
    ]
}

/// Starts those that only read, each as `config` asks for it.
pub(crate) async fn start(tasks: &mut Tasks, vital: &mut JoinSet<()>, config: &Config, sources: MetricSources) {
    start_for_people(tasks, sources.shared_state.clone());
    textfile::start(tasks, config, &sources);
    metrics::start(vital, config, sources).await;
}

/// People read the journal under systemd and the terminal otherwise.
fn start_for_people(tasks: &mut Tasks, shared_state: SharedState) {
    if libsystemd::logging::connected_to_journal() && journal::is_available() {
        let stop = tasks.stop().clone();
        tasks.supervise("journal", AtStop::Finish, move || {
            let stop = stop.clone();
            journal::run(shared_state.clone(), async move { stop.requested().await })
        });
    } else {
        tasks.supervise("console", AtStop::Drop, move || console::run(shared_state.clone()));
    }
}
