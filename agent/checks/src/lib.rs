//! Checks: what the logs of a node do not show. Limits, mounts, clocks and networks are read by a worker and judged in
//! the check process, as devices are ([`nodewell_hardware::Reader`], [`nodewell_hardware::Judge`]).
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod clock;
mod duration_text;
pub mod limits;
pub mod mounts;
pub mod network;
pub mod plugin;
pub mod pod_names;
pub mod repair;
pub mod service;
pub mod settings;
pub mod statistics;
pub mod systemd;

pub use settings::Settings;
