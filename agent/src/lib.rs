//! The node health agent. The modules are the path of the data: sources → detectors → monitors → ledger → exporters.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod board;
pub mod detectors;
pub mod runtime;
pub mod sources;
