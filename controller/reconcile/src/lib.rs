//! Performs what `nodewell-remediation` decides, over the traits [`cluster::Cluster`] and [`power::Power`]. Nothing
//! here knows HTTP or processes: the controller and the simulation run the same code.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod api_error;
pub mod audit;
pub mod cache;
pub mod clock;
pub mod cluster;
pub mod drain;
pub mod executor;
pub mod feed;
pub mod leader;
pub mod lease_deadline;
pub mod liveness;
mod own_host;
pub mod power;
pub mod reach;
pub mod serve;
