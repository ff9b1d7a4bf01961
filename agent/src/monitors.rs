//! Third stage: a monitor joins a source with its detectors and reports to the ledger what it found.

pub mod boot;
pub mod coalesce;
pub mod log;
pub mod outlet;
pub mod state;
