//! `[socket]`: where it is, and what a peer may cost.

use std::{path::PathBuf, time::Duration};

use nodewell_client::DEFAULT_SOCKET;
use nodewell_settings::{
    Key, Table,
    kind::{Count, Number, Path, Time},
};

use super::rate;
use crate::bucket::Rate;

/// The values of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketConfig {
    pub path: PathBuf,
    pub limits: SocketLimits,
}

/// What a peer may cost. Every bound that is hit is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketLimits {
    /// Connections in all, followers included.
    pub connections: usize,
    /// How many of them are reserved for root, the agent's own user and its check processes; half of a small number
    /// stays open to all clients.
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

impl Table for SocketConfig {
    const NAME: &'static str = "[socket]";
    const ABOUT: &'static str = "Where people and scripts ask and daemons report, and what each of them may cost.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            Self::key("path", |it| &mut it.path, Path)
                .help("Where it is, for an agent that is started by hand; socket = \"PATH\" is short for that alone."),
            // Each is a task and two descriptors, of which there are 1,024 by default.
            Self::key("connections", |it| &mut it.limits.connections, Count(2..=256))
                .help("Connections in all, followers included."),
            Self::key("connections-per-peer", |it| &mut it.limits.connections_per_peer, Count(1..=256))
                .help("Connections of one peer: a unit, a container or a user."),
            Self::key("head-timeout", |it| &mut it.limits.head_timeout, Time::ANY)
                .help("For a whole request head, counted from the connect or the answer before."),
            Self::key("body-timeout", |it| &mut it.limits.body_timeout, Time::ANY).help("For a whole request body."),
            Self::key("write-timeout", |it| &mut it.limits.write_timeout, Time::ANY)
                .help("For a peer that does not take what it asked for."),
            // All connections may hold a body at once.
            Self::key("body-bytes", |it| &mut it.limits.body_bytes, Count(1024..=16 << 20))
                .help("The longest request body."),
            Self::key("events-per-report", |it| &mut it.limits.events_per_report, Count(1..=10_000))
                .help("Events in one report."),
            Self::key("subjects-per-daemon", |it| &mut it.limits.subjects_per_daemon, Count(1..=10_000))
                .help("Condition types and subjects that one daemon may hold."),
            Self::key("rate", |it| &mut it.limits.rate.interval, rate::Rate)
                .help("Reports of one peer that has no grant with a rate of its own."),
            Self::key("burst", |it| &mut it.limits.rate.burst, Number(rate::BURSTS)).help("Of them at once."),
        ]
    }

    fn resolve(&mut self) {
        self.limits.reserved = self.limits.reserved.min(self.limits.connections / 2);
    }
}

impl Default for SocketConfig {
    fn default() -> Self {
        Self { path: DEFAULT_SOCKET.into(), limits: SocketLimits::default() }
    }
}
