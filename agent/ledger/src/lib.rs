//! The one owner of what is true of the node: findings become claims, claims problems, problems conditions.
//!
//! Pure and deterministic: no clock, no I/O, no log. Time comes in with every call ([`Now`]), everything is stored in
//! ordered maps, and every input is bounded ([`Limits`]).
//!
//! ## Which time is meant
//! A problem's times and a condition's `since` are the record's own wall time, never later than the wall time of
//! arrival (a record from the future happened, at the latest, when we read it). `since` moves only with the status,
//! and a transition made by a record is never dated before the last transition made by a record, so a wall clock
//! that jumps back gives equal times, not times out of order. Transitions that a daemon's state makes are dated at
//! its report, and never before the one in force. Only one step back is wanted: a record that was written
//! before its monitor began to read dates the condition at the record.
//!
//! Deadlines (quiet times, ttl, tests) are stored in `CLOCK_BOOTTIME` of arrival and fire in [`Ledger::advance`] alone:
//! a raise that arrives after a deadline but before `advance` continues the problem.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod acks;
mod claim;
mod condition;
mod counters;
mod daemon;
mod dirty;
mod events;
mod hardware;
mod ledger;
mod limits;
mod mutes;
mod now;
mod reporter;
mod saved;
mod timers;
mod unreported;
mod view;

pub use counters::{Counters, Gauge};
pub use daemon::{DaemonReport, Gap};
pub use ledger::{Applied, ClearRequest, Ledger, Rejection, ReportRejection, Sender};
pub use limits::{Limits, Share};
pub use now::Now;
pub use reporter::OnStale;
pub use saved::{LoadedRows, TABLES};

#[cfg(test)]
mod tests;
