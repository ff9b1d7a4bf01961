//! The controller: a real API server and real fence agents under the reconcilers, and what people and monitoring see.
//!
//! The path of a run: [`daemon::run`] connects ([`kube`]) and watches ([`watch`]) into the cache that the loop of
//! `nodewell-reconcile` decides upon; [`metrics`] and `notify` show it. [`cli`] has the commands of people.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod approver;
pub mod audit;
pub mod cli;
pub mod clock;
pub mod config;
pub mod daemon;
mod external;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod kdump;
pub mod kube;
pub mod metrics;
mod notify;
pub mod report;
pub mod tally;
pub mod watch;
pub mod webhook;
