//! node-reaper's configuration: which nodes it would reap (drain, and have the provider delete the machine), what is
//! done otherwise here, and the policy that is made of it. The key `compat` decides whether its faults are repeated here.

mod decision;
mod deviation;
mod keys;
mod maximum;
mod mistake;
mod translation;

pub use deviation::deviations;
pub(crate) use deviation::refusals;
pub use keys::{Compat, KEYS, Predicate, Read, ReaperConfig};
pub(crate) use keys::{ReaperDiagnostic, read};
pub use maximum::Maximum;
pub use translation::POLICY_NAME;
pub(crate) use translation::to_policy;

/// Nodes whose drain was begun. The counters have node-reaper's names and no labels.
pub const DRAIN_TOTAL: &str = "node_reaper_controller_drain_total";
/// Nodes whose drain failed, the forced retry included.
pub const DRAIN_FAIL_TOTAL: &str = "node_reaper_controller_drain_fail_total";
/// Nodes whose provider was asked to reap them.
pub const REAP_TOTAL: &str = "node_reaper_controller_reap_total";
/// Nodes that could not be reaped.
pub const REAP_FAIL_TOTAL: &str = "node_reaper_controller_reap_fail_total";

#[cfg(test)]
mod tests;
