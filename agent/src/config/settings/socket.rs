//! `[socket]`: where it is and what a peer may cost. `socket = "PATH"` is short for its `path` alone.

use std::{path::PathBuf, time::Duration};

use nodewell_rules::document::{Report, Section};

use super::rate;
use crate::{bucket::Rate, config::SocketLimits};

const KEYS: &[&str] = &[
    "path",
    "connections",
    "connections-per-peer",
    "head-timeout",
    "body-timeout",
    "write-timeout",
    "body-bytes",
    "events-per-report",
    "subjects-per-daemon",
    "rate",
    "burst",
];

/// What one file or the flags set; `None` where a key is not set.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SocketSettings {
    pub path: Option<PathBuf>,
    pub connections: Option<u32>,
    pub connections_per_peer: Option<u32>,
    pub head_timeout: Option<Duration>,
    pub body_timeout: Option<Duration>,
    pub write_timeout: Option<Duration>,
    pub body_bytes: Option<u32>,
    pub events_per_report: Option<u32>,
    pub subjects_per_daemon: Option<u32>,
    /// The time between two reports.
    pub interval: Option<Duration>,
    pub burst: Option<u32>,
}

pub(super) fn read(file: Section<'_>, report: &mut Report<'_>) -> SocketSettings {
    if file.value("socket").is_some_and(|value| value.get_ref().is_str()) {
        return SocketSettings { path: super::path(file, "socket", report), ..SocketSettings::default() };
    }
    let Some(table) = file.table("socket", report) else { return SocketSettings::default() };
    let section = Section::new("[socket]", table, KEYS, report);
    SocketSettings {
        path: super::path(section, "path", report),
        // Each is a task and two descriptors, of which there are 1,024 by default.
        connections: section.number("connections", 2..=256, report),
        connections_per_peer: section.number("connections-per-peer", 1..=256, report),
        head_timeout: section.duration("head-timeout", report),
        body_timeout: section.duration("body-timeout", report),
        write_timeout: section.duration("write-timeout", report),
        // All connections may hold a body at once.
        body_bytes: section.number("body-bytes", 1024..=16 * 1024 * 1024, report),
        events_per_report: section.number("events-per-report", 1..=10_000, report),
        subjects_per_daemon: section.number("subjects-per-daemon", 1..=10_000, report),
        interval: rate::interval(section, report),
        burst: section.number("burst", rate::BURSTS, report),
    }
}

impl SocketSettings {
    /// Both merged; `later` overrides.
    pub(super) fn merged(self, later: Self) -> Self {
        Self {
            path: later.path.or(self.path),
            connections: later.connections.or(self.connections),
            connections_per_peer: later.connections_per_peer.or(self.connections_per_peer),
            head_timeout: later.head_timeout.or(self.head_timeout),
            body_timeout: later.body_timeout.or(self.body_timeout),
            write_timeout: later.write_timeout.or(self.write_timeout),
            body_bytes: later.body_bytes.or(self.body_bytes),
            events_per_report: later.events_per_report.or(self.events_per_report),
            subjects_per_daemon: later.subjects_per_daemon.or(self.subjects_per_daemon),
            interval: later.interval.or(self.interval),
            burst: later.burst.or(self.burst),
        }
    }

    /// The limits that are set, and the defaults for the others.
    #[must_use]
    pub fn limits(&self) -> SocketLimits {
        let default = SocketLimits::default();
        let count = |value: Option<u32>, otherwise: usize| value.map_or(otherwise, |value| value as usize);
        let connections = count(self.connections, default.connections);
        SocketLimits {
            connections,
            // Half of a small number stays open to all clients.
            reserved: default.reserved.min(connections / 2),
            connections_per_peer: count(self.connections_per_peer, default.connections_per_peer),
            head_timeout: self.head_timeout.unwrap_or(default.head_timeout),
            body_timeout: self.body_timeout.unwrap_or(default.body_timeout),
            write_timeout: self.write_timeout.unwrap_or(default.write_timeout),
            body_bytes: count(self.body_bytes, default.body_bytes),
            events_per_report: count(self.events_per_report, default.events_per_report),
            subjects_per_daemon: count(self.subjects_per_daemon, default.subjects_per_daemon),
            rate: Rate {
                interval: self.interval.unwrap_or(default.rate.interval),
                burst: self.burst.unwrap_or(default.rate.burst),
            },
        }
    }
}
