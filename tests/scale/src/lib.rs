//! The scale test: N of the agent's real exporters, without the rest of the agent, in one process. They meet either a
//! server of this process on virtual time, or the real one in real time.

#![allow(clippy::unwrap_used)]

pub mod cluster;
pub mod fleet;
pub mod forward;
pub mod memory;
pub mod meter;
pub mod real;
pub mod report;
pub mod scenario;
pub mod server;
pub mod truth;
