//! The local socket: HTTP/1.1 and JSON over a Unix socket, so that `curl` is a client. It is an exporter (every process
//! on the host may read); what changes something is for peers that the gate lets in.

mod account;
mod ack;
mod act;
mod answer;
mod bind;
mod body;
mod check_process_units;
mod follow;
mod gate;
mod grants;
mod last_report;
mod mute;
mod peer;
mod permits;
mod queue;
mod rate;
mod read;
mod report;
mod route;
mod serve;
mod stream;
mod tally;
mod turn_away;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use nodewell_model::{
    Name,
    api::{InjectAnswer, InjectRequest, VersionView},
};
use tokio::sync::watch;

use crate::{bucket::Rate, config::SocketLimits, inventory::InventoryFiles, runtime::clock, shared_state::SharedState};
use gate::Gate;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use report::read as read_reports;

pub use bind::{BindError, Door, SocketFile, bind};
pub use grants::Grants;
pub use permits::{Counters, RefusedConnections};
pub use serve::serve;

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
    /// What the check process shows of the hardware.
    inventory: Option<InventoryFiles>,
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
            boot_id: clock::boot_id(),
        };
        Self {
            shared_state,
            injector,
            version,
            gate: Gate::new(access, owner()),
            inventory: None,
            instance: instance(),
        }
    }

    /// With the inventory that lies in these files.
    #[must_use]
    pub fn with_inventory(self, files: InventoryFiles) -> Self {
        Self { inventory: Some(files), ..self }
    }
}

/// Sixteen hexadecimal digits that no other run of an agent has: the standard library seeds its hashers from the
/// kernel's random bytes.
fn instance() -> String {
    format!("{:016x}", nodewell_client::random())
}
