//! The node health agent. The modules are the path of the data: sources → detectors → monitors → ledger → exporters.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod bucket;
pub mod check_process;
pub mod cli;
pub mod command;
pub mod config;
pub mod daemon;
pub mod detectors;
pub mod exporters;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod hw_counters;
pub mod identity;
pub mod injection;
pub mod inventory;
pub mod ledger;
pub mod monitors;
pub mod pstore_collector;
pub mod readers;
pub mod repair;
pub mod runtime;
pub mod shared_state;
pub mod socket;
pub mod sources;
pub mod store;
