//! The local socket: HTTP/1.1 and JSON over a Unix socket, so that `curl` is a client. It is an exporter (every process
//! on the host may read); what changes something is for peers that the gate lets in.

mod account;
mod act;
mod answer;
mod bind;
mod body;
mod follow;
mod gate;
mod grants;
mod peer;
mod permits;
mod rate;
mod read;
mod report;
mod route;
mod serve;
mod stream;
mod tally;

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use nodewell_model::{
    Name,
    api::{InjectAnswer, InjectRequest, VersionView},
};
use tokio::sync::watch;

use crate::{bucket::Rate, shared_state::SharedState};
use gate::Gate;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use report::read as read_reports;

pub use bind::{BindError, Door, SocketFile, bind};
pub use grants::{Grant, Grantee, Grants, Types};
pub use nodewell_client::DEFAULT_SOCKET as DEFAULT_PATH;
pub use permits::{Counters, RefusedConnections};
pub use serve::serve;

/// What a peer may cost. Every bound that is hit is counted in [`Counters`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Connections in all, followers included.
    pub connections: usize,
    /// How many of them are reserved for root and the agent's own user.
    pub reserved: usize,
    /// Connections of one peer: a unit, a container or a user. The host's root and the agent's own user are only bound
    /// by `connections`.
    pub connections_per_peer: usize,
    /// For a whole request head, counted from the connect or the answer before: so it ends idle connections too.
    pub head_timeout: Duration,
    /// For a whole request body.
    pub body_timeout: Duration,
    /// For a peer that does not take what it asked for.
    pub write_timeout: Duration,
    /// The longest request body, in bytes.
    pub body_bytes: usize,
    /// Events in one report.
    pub events_per_report: usize,
    /// Condition types and subjects that one daemon may hold.
    pub subjects_per_daemon: usize,
    /// Reports of one peer that has no grant with a rate of its own.
    pub rate: Rate,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 32,
            reserved: 4,
            connections_per_peer: 4,
            head_timeout: Duration::from_secs(5),
            body_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(10),
            body_bytes: 64 * 1024,
            events_per_report: 64,
            subjects_per_daemon: 256,
            rate: Rate { burst: 40, interval: Duration::from_millis(50) },
        }
    }
}

/// Knows the rules, and can make the kernel log reader expect one marked record.
pub trait Injector: Send + Sync {
    /// Arms one injection; the error is for the person who asked.
    fn prepare(&self, request: &InjectRequest) -> Result<InjectAnswer, String>;

    /// The look at the host that ends problems of `reason`, as rules call it.
    fn check_of(&self, reason: &Name) -> Option<&'static str>;
}

/// Who may report, as of now and of every reload.
pub struct Access {
    pub grants: watch::Receiver<Arc<Grants>>,
    /// For a peer that has no grant with a rate.
    pub rate: Rate,
}

/// The agent's own user: it may do what root may.
fn owner() -> u32 {
    nix::unistd::geteuid().as_raw()
}

/// Everything the routes answer from.
pub struct Api {
    shared_state: SharedState,
    injector: Arc<dyn Injector>,
    version: VersionView,
    gate: Gate,
    /// This run of the agent, as answers to reports name it.
    instance: String,
}

impl Api {
    /// Answers from `shared_state`; `access` is who may report, `features` what `GET /v1/version` lists.
    #[must_use]
    pub fn new(shared_state: SharedState, injector: Arc<dyn Injector>, access: Access, features: &[&str]) -> Self {
        let version = VersionView {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            api: "v1".to_owned(),
            features: features.iter().map(|&feature| feature.to_owned()).collect(),
        };
        Self { shared_state, injector, version, gate: Gate::new(access, owner()), instance: instance() }
    }
}

/// Sixteen hexadecimal digits that no other run of an agent has: the standard library seeds its hashers from the
/// kernel's random bytes.
fn instance() -> String {
    format!("{:016x}", nodewell_client::random())
}
