//! Durations.

use std::time::Duration;

use super::quoted;
use crate::{Kind, Report, Schema, Section, duration};

const DAY_SECS: u64 = 24 * 3600;

/// A duration, within limits.
#[derive(Debug, Clone, Copy)]
pub struct Time {
    least: Duration,
    most: Duration,
    /// Why not less, and why not more: `would keep disks awake`.
    less: &'static str,
    more: &'static str,
}

impl Time {
    /// Any.
    pub const ANY: Self = Self { least: Duration::ZERO, most: duration::LIMIT, less: "", more: "" };

    #[must_use]
    pub const fn from(least: Duration) -> Self {
        Self { least, ..Self::ANY }
    }

    #[must_use]
    pub const fn to(self, most: Duration) -> Self {
        Self { most, ..self }
    }

    /// And why not less: `"interval" below 1m would keep disks awake`.
    #[must_use]
    pub const fn not_below(self, least: Duration, less: &'static str) -> Self {
        Self { least, less, ..self }
    }

    /// And why not more: `"heartbeat" is at most 5m: …`.
    #[must_use]
    pub const fn not_above(self, most: Duration, more: &'static str) -> Self {
        Self { most, more, ..self }
    }

    fn range(&self) -> String {
        match (self.least.is_zero(), self.most == duration::LIMIT) {
            (true, true) => String::new(),
            (true, false) => format!("at most {}", shown(self.most)),
            (false, true) => format!("at least {}", shown(self.least)),
            (false, false) => format!("from {} to {}", shown(self.least), shown(self.most)),
        }
    }

    /// What is wrong with a value of `key`, if anything is.
    fn refusal(&self, key: &str, value: Duration) -> Option<String> {
        if value < self.least && !self.less.is_empty() {
            return Some(format!("{key:?} below {} {}", shown(self.least), self.less));
        }
        if value > self.most && !self.more.is_empty() {
            return Some(format!("{key:?} is at most {}: {}", shown(self.most), self.more));
        }
        (!(self.least..=self.most).contains(&value)).then(|| format!("{key:?} is {}", self.range()))
    }
}

impl Kind for Time {
    type Of = Duration;

    fn read(&self, section: Section<'_>, key: &'static str, report: &mut Report<'_>) -> Option<Duration> {
        let value = section.duration(key, report)?;
        if let Some(refusal) = self.refusal(key, value) {
            report.error(section.position(key), refusal);
        }
        Some(value)
    }

    fn shown(&self, value: &Duration) -> Option<String> {
        Some(quoted(&shown(*value)))
    }

    fn takes(&self) -> String {
        format!("a duration {}", self.range()).trim_end().to_owned()
    }

    fn schema(&self) -> Schema {
        Schema::DURATION
    }
}

/// A duration, or none at all: `"0"`.
pub struct TimeOrNone;

impl Kind for TimeOrNone {
    type Of = Duration;

    fn read(&self, section: Section<'_>, key: &'static str, report: &mut Report<'_>) -> Option<Duration> {
        section.duration_or_none(key, report)
    }

    fn shown(&self, value: &Duration) -> Option<String> {
        Time::ANY.shown(value)
    }

    fn takes(&self) -> String {
        "a duration; \"0\" for none".to_owned()
    }

    fn schema(&self) -> Schema {
        Schema::AnyOf(vec![Schema::Words(vec!["0"]), Schema::DURATION])
    }
}

/// Whole days as such: `168h` is read by few.
fn shown(duration: Duration) -> String {
    let secs = duration.as_secs();
    let is_days = secs > 0 && secs.is_multiple_of(DAY_SECS) && duration.subsec_nanos() == 0;
    if is_days { format!("{}d", secs / DAY_SECS) } else { duration::shown(duration) }
}
