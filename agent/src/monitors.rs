//! Third stage: a monitor joins a source with its detectors and reports to the ledger what it found.

pub mod agent_state;
pub mod boot;
pub mod coalesce;
pub mod ledger_sender;
pub mod log;
pub(crate) mod own_event;
