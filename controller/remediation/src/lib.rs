//! What the controller decides. Values go in, values come out: the time is an argument, the cluster a snapshot, and
//! what is to be done an [`action::Action`]. A thin layer performs the actions (`nodewell-reconcile`); the simulation
//! runs the same two.
//!
//! The path of the data: [`facts`] and [`api`] objects → a [`snapshot::Snapshot`] → [`decide`](decide::decide), which asks
//! [`policy`] (predicate, steps), [`guard`] and, for each open record, [`fence`] → [`action::Action`]s and
//! [`node_report::NodeReport`]s.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod action;
pub mod api;
pub mod decide;
pub mod drain;
pub mod external;
pub mod facts;
pub mod fence;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod guard;
pub mod leader_report;
pub mod liveness;
pub mod message;
pub mod method;
pub mod node_report;
pub mod policy;
pub mod predicate;
pub mod shutdown;
pub mod snapshot;
#[cfg(test)]
mod testing;
pub mod time;
