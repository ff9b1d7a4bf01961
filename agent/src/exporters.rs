//! Exporters, the last stage: they show what the ledger holds to the world outside the agent. (The local socket is one
//! too; it is in `socket`.)
//!
//! - The *ledger* is the agent's account in memory of all problems and conditions; SQLite (the store) has a copy.
//! - The *shared state* is what the ledger publishes for exporters: a view of all conditions, and the event log.
//! - The *event log* is the newest Events in memory, of a bounded number, each with an id that grows by one.

pub mod apiserver;
pub mod console;
pub mod journal;
pub mod metrics;
