//! The API server exporter: keeps the Node object's conditions and Events true. It only reads the shared state, so
//! detection never waits for it.
//!
//! Conditions go out by server-side apply on `nodes/status`, Events as core/v1 in one namespace, and a Lease is renewed
//! as a sign of life. The loops are independent: one that is forbidden or refused does not stop the others. RBAC
//! needed: `patch` on `nodes/status` of the own Node, `create` and `patch` on `events` in that namespace, and if there
//! is to be a Lease, on `leases` in the namespace `nodewell` (`packaging/rbac/`).
//!
//! Each loop has a room with all that is its own: `conditions`, `events`, `lease`; the JSON that it sends is in the
//! room's `object`. These stand on `control_loop` (what loops share, when one tries again, how it is), and that on
//! `connection` (a request, its way, what its answer means). No room looks back, nor one loop's into another's; all of
//! them read the configuration here.

mod conditions;
mod connection;
mod control_loop;
mod events;
mod lease;
mod stats;

use std::{future::Future, sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, watch},
    time::sleep,
};

pub use crate::config::{LeaseConfig, LeaseMode, TakeOver};
pub(crate) use conditions::CONTROLLER_MANAGER;
pub use conditions::{NODE_MESSAGE_LIMIT_BYTES, WithdrawError, withdraw};
pub(crate) use connection::client_of;
pub use connection::{ApiClient, ClientSource, FIELD_MANAGER, RequestBody};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use connection::{RequestError, parse_answer};
pub use control_loop::{Notice, RetryPolicy};
pub use events::{EventLimits, EventsCheckpoint};
pub use stats::{ApiStats, RequestKind};

pub use crate::bucket::Rate;

use crate::{
    runtime::{Spawner, clock::Clock, program::CHECKS},
    shared_state::SharedState,
};
use control_loop::Shared;

/// How the exporter is set up; [`ApiserverConfig::new`] has the defaults.
#[derive(Debug, Clone)]
pub struct ApiserverConfig {
    pub client_source: ClientSource,
    /// The Node's name in the cluster.
    pub node_name: String,
    /// `default`, or `kube-system`: the server takes Events about cluster-wide objects nowhere else.
    pub event_namespace: String,
    /// How long the first write waits for monitors that are still starting.
    pub start_grace: Duration,
    /// Without a change the conditions are confirmed so often (KEP-589); up to a tenth is added by chance.
    pub heartbeat: Duration,
    /// Two writes of one condition's changes are at least so far apart.
    pub min_change_interval: Duration,
    /// A problem that has come back must be gone for so long before the Node's condition shows it.
    pub clear_hold: Duration,
    /// A request that was not answered may still be carried out within this time, and overwrite what was written after
    /// it. So all conditions are sent once more when this time is over, and a random part of it again: the nodes do
    /// not all write at once.
    pub late_effect: Duration,
    /// When an Event is to be sent and the server has not confirmed the Node for this long, the agent looks at the Node
    /// first: it may have been created again, with another UID.
    pub stale_after: Duration,
    /// From connecting to the last byte of the answer.
    pub request_timeout: Duration,
    pub retry: RetryPolicy,
    pub event_limits: EventLimits,
    /// How often the kubeconfig and the files it names are looked at, and how often while requests fail.
    pub file_check: Duration,
    pub file_check_failing: Duration,
    /// What is due at the end may take so long.
    pub flush_grace: Duration,
    /// And what is due only where the whole system shuts down. It is busy then, and a node that does not say so in time
    /// is taken for dead.
    pub announcement_grace: Duration,
    /// When conditions are taken from other field managers.
    pub take_over: TakeOver,
    pub lease: LeaseConfig,
    /// The program that asks systemd whether the whole system shuts down.
    pub checks: Spawner,
    /// The scale test runs thousands of exporters on virtual time.
    pub clock: Clock,
}

impl ApiserverConfig {
    /// The defaults for this node.
    #[must_use]
    pub fn new(client_source: impl Into<ClientSource>, node_name: &str) -> Self {
        Self {
            client_source: client_source.into(),
            node_name: node_name.to_owned(),
            event_namespace: "default".to_owned(),
            start_grace: Duration::from_secs(1),
            heartbeat: Duration::from_secs(300),
            min_change_interval: Duration::from_secs(10),
            clear_hold: Duration::from_secs(30),
            late_effect: Duration::from_secs(30),
            stale_after: Duration::from_mins(1),
            request_timeout: Duration::from_secs(10),
            retry: RetryPolicy::default(),
            event_limits: EventLimits::default(),
            file_check: Duration::from_secs(60),
            file_check_failing: Duration::from_secs(2),
            flush_grace: Duration::from_secs(2),
            announcement_grace: Duration::from_secs(8),
            take_over: TakeOver::default(),
            lease: LeaseConfig::default(),
            checks: Spawner::beside_us(CHECKS),
            clock: Clock::default(),
        }
    }
}

/// What the exporter is connected to inside the agent; the shared state's store saves what is not delivered yet.
#[derive(Debug, Clone)]
pub struct ExporterHandles {
    pub shared_state: SharedState,
    pub stats: Arc<ApiStats>,
    /// Receives conflicts with other field managers; a full channel loses them.
    pub notices: Option<mpsc::Sender<Notice>>,
    /// The same for all runs of one exporter.
    pub checkpoint: EventsCheckpoint,
}

/// Runs until `shutdown` completes, then sends what is due within the flush grace. Needs a tokio runtime with time
/// and I/O. Started again after a panic it goes on from its checkpoint; after a crash, with what the store has.
pub async fn run(config: ApiserverConfig, handles: ExporterHandles, shutdown: impl Future<Output = ()>) {
    let checkpoint = handles.checkpoint.clone();
    let shared = Shared::new(config, handles);
    let (flush, announcement) = (shared.config.flush_grace, shared.config.announcement_grace);
    let loops = async {
        tokio::join!(
            ends_within(flush, shared.stop.subscribe(), conditions::run(&shared)),
            ends_within(flush, shared.stop.subscribe(), events::run(&shared, checkpoint)),
            ends_within(announcement, shared.stop.subscribe(), lease::run(&shared)),
        )
    };
    tokio::pin!(loops);
    tokio::select! {
        _ = &mut loops => return,
        () = shared.watch_files() => return,
        () = shutdown => {}
    }
    shared.stop.send_replace(true);
    let (conditions, events, lease) = loops.await;
    if !(conditions && events && lease) {
        tracing::warn!("the API server did not answer the last requests in time");
    }
}

/// Whether the loop ended by itself: it is cut off so long after the stop.
async fn ends_within(grace: Duration, mut stop: watch::Receiver<bool>, control_loop: impl Future) -> bool {
    let is_over = async {
        let _ = stop.wait_for(|stops| *stops).await;
        sleep(grace).await;
    };
    tokio::select! {
        _ = control_loop => true,
        () = is_over => false,
    }
}

#[cfg(test)]
mod tests;
