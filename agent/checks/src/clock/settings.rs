//! `[clock]`: how far it may be off, and for how long it may be unsynchronised.

use std::time::Duration;

use crate::probe::settings::{INTERVAL, enabled, interval};
use nodewell_settings::{
    Key, ReadKeys, Report, Table,
    kind::{Bool, Maybe, Time},
};
use serde::{Deserialize, Serialize};

/// The kernel's own estimates are in microseconds.
const OFFSETS: Time = Time::from(Duration::from_millis(1)).to(Duration::from_secs(10));
const STEPS: Time = Time::from(Duration::from_millis(100)).to(Duration::from_hours(1));

/// The values of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClockSettings {
    pub enabled: bool,
    pub interval: Duration,
    pub required: bool,
    pub unsynchronised_after: Duration,
    pub offset: Duration,
    offset_clear: Option<Duration>,
    pub step: Duration,
}

impl ClockSettings {
    /// Below this it is well again.
    pub fn offset_clear(&self) -> Duration {
        self.offset_clear.filter(|clear| *clear < self.offset).unwrap_or(self.offset / 2)
    }
}

impl Table for ClockSettings {
    const NAME: &'static str = "[clock]";
    const ABOUT: &'static str = "The clock: whether it is synchronised, how far it is off, whether it was set.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            enabled(|it| &mut it.enabled),
            interval(|it| &mut it.interval, INTERVAL),
            Self::key("required", |it| &mut it.required, Bool).help(
                "Whether a clock that is not synchronised is a fault although no program that would do it was \
                     ever seen.",
            ),
            Self::key(
                "unsynchronised-after",
                |it| &mut it.unsynchronised_after,
                Time::ANY.to(Duration::from_hours(7 * 24)),
            )
            .help("For how long the clock may go without synchronisation."),
            Self::key("offset", |it| &mut it.offset, OFFSETS).help("Off by so much for five minutes is a fault."),
            Self::key("offset-clear", |it| &mut it.offset_clear, Maybe(Time::ANY))
                .help("Below this it is well again; if unset, below half of offset.")
                .example(r#""50ms""#),
            Self::key("step", |it| &mut it.step, STEPS).help("A larger step of the wall clock is reported."),
        ]
    }

    fn check(&self, read: &ReadKeys<'_>, report: &mut Report<'_>) {
        let both = read.has_all(&["offset", "offset-clear"]);
        if both && self.offset_clear.is_some_and(|clear| clear >= self.offset) {
            report.error(read.position("offset-clear"), "\"offset-clear\" has to be below \"offset\"");
        }
    }

    fn resolve(&mut self) {
        self.offset_clear = Some(self.offset_clear());
    }
}

impl Default for ClockSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            interval: Duration::from_mins(1),
            required: false,
            // A daemon that restarts needs minutes.
            unsynchronised_after: Duration::from_mins(15),
            // ntpd steps from 128 ms on, systemd-timesyncd from 400 ms on.
            offset: Duration::from_millis(100),
            offset_clear: None,
            // A leap second is none.
            step: Duration::from_secs(1),
        }
    }
}
