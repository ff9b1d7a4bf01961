//! node-reaper's configuration: which nodes it would reap (drain, and have the provider delete the machine), what is done
//! otherwise here, and the policy that is made of it. node-reaper is a controller of 2018; the key `compat` decides whether its
//! faults are repeated here.

mod config;
mod decision;
mod deviation;
mod maximum;
mod mistake;
mod translation;

pub use config::{Compat, KEYS, Predicate, Read, ReaperConfig, ReaperDiagnostic, read};
pub use decision::{ReapDecision, Reason, decide_one};
pub use deviation::{deviations, refusals};
pub use maximum::Maximum;
pub use translation::{POLICY_NAME, ReaperJudge, to_policy};

/// Nodes whose drain was begun. The counters have node-reaper's names and no labels.
pub const DRAIN_TOTAL: &str = "node_reaper_controller_drain_total";
/// Nodes whose drain failed, the forced retry included.
pub const DRAIN_FAIL_TOTAL: &str = "node_reaper_controller_drain_fail_total";
/// Nodes whose provider was asked to reap them.
pub const REAP_TOTAL: &str = "node_reaper_controller_reap_total";
/// Nodes that could not be reaped.
pub const REAP_FAIL_TOTAL: &str = "node_reaper_controller_reap_fail_total";

/// The cloud provider of a node, whose program deletes the machine: its providerID up to the first colon. Nothing where there is none.
#[must_use]
pub fn provider(provider_id: &str) -> Option<&str> {
    provider_id.split(':').next().filter(|provider| !provider.is_empty())
}

#[cfg(test)]
mod tests;
