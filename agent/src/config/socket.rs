//! `[socket]`: what a peer may cost.

use std::time::Duration;

use crate::bucket::Rate;

/// What a peer may cost. Every bound that is hit is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketLimits {
    /// Connections in all, followers included.
    pub connections: usize,
    /// How many of them are reserved for root, the agent's own user and its check processes.
    pub reserved: usize,
    /// Connections of one peer: a unit, a container or a user. The host's root and the agent's own user are only bound
    /// by `connections`.
    pub connections_per_peer: usize,
    /// For a whole request head, counted from the connect or the answer before: so it ends idle connections too.
    pub head_timeout: Duration,
    /// For a whole request body.
    pub body_timeout: Duration,
    /// For a peer that does not take what it asked for.
    pub write_timeout: Duration,
    /// The longest request body, in bytes.
    pub body_bytes: usize,
    /// Events in one report.
    pub events_per_report: usize,
    /// Condition types and subjects that one daemon may hold.
    pub subjects_per_daemon: usize,
    /// Reports of one peer that has no grant with a rate of its own.
    pub rate: Rate,
}

impl Default for SocketLimits {
    fn default() -> Self {
        Self {
            connections: 32,
            reserved: 4,
            connections_per_peer: 4,
            head_timeout: Duration::from_secs(5),
            body_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(10),
            body_bytes: 64 * 1024,
            events_per_report: 64,
            subjects_per_daemon: 256,
            rate: Rate { burst: 40, interval: Duration::from_millis(50) },
        }
    }
}
