//! What lives on of node-reaper, a controller of 2018: its configuration as one policy more, and its plug-ins, which
//! delete machines.
//!
//! Its file → [`read`], with predicates in its own language ([`govaluate`]) → a [`Reaper`], which makes a policy of it and
//! only observes where something speaks against that → [`Feeding`], which puts the policy among those of the cluster. Where
//! a policy reaps, [`Reaping`] asks the one of the [`Plugins`] that is for the node. What is done otherwise than by
//! node-reaper is listed by [`deviations`].
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod config;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod govaluate;
mod reaper;

pub use config::{
    Compat, DRAIN_FAIL_TOTAL, DRAIN_TOTAL, KEYS, Maximum, POLICY_NAME, Predicate, REAP_FAIL_TOTAL, REAP_TOTAL, Read,
    ReaperConfig, deviations,
};
pub use reaper::{Feeding, PLUGINS, Plugins, Reaper, Reaping, Unfit, announce, parse, read};
