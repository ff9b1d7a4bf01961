//! Which events are shown: by time, reason and condition.

use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use nodewell_model::{Name, view::EventView};
use nodewell_settings::duration;

/// Each flag narrows what is shown; a flag that is given several times takes what any of its values names.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct Filter {
    /// Only what is not older than 10m, 2h or 7d, or than a time such as 2026-11-21T06:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<Since>,
    /// Only with this reason. May be given several times.
    #[arg(long, value_name = "REASON")]
    reason: Vec<Name>,
    /// Only starts and ends of this condition's problems. May be given several times.
    #[arg(long, value_name = "TYPE")]
    condition: Vec<Name>,
}

/// From when on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Since {
    Ago(Duration),
    Time(Timestamp),
}

fn since(text: &str) -> Result<Since, String> {
    if let Ok(length) = duration::parse(text) {
        return Ok(Since::Ago(length));
    }
    let time = text.parse().map_err(|_| "takes 10m, 2h or 7d, or a time such as 2026-11-21T06:00:00Z".to_owned());
    time.map(Since::Time)
}

impl Filter {
    pub(super) fn takes_all(&self) -> bool {
        self.since.is_none() && self.reason.is_empty() && self.condition.is_empty()
    }

    /// Reasons and conditions that none of these events has: nothing is shown of them.
    pub(super) fn absent_from<'a>(&'a self, kept: &'a [EventView]) -> impl Iterator<Item = (&'static str, &'a Name)> {
        let reasons = self.reason.iter().filter(|name| kept.iter().all(|event| event.reason != **name));
        let conditions =
            self.condition.iter().filter(|name| kept.iter().all(|event| event.condition.as_ref() != Some(*name)));
        reasons.map(|name| ("reason", name)).chain(conditions.map(|name| ("condition", name)))
    }

    pub(super) fn has_time(&self) -> bool {
        self.since.is_some()
    }

    /// Whether more is asked for than what is from `oldest` on.
    pub(super) fn reaches_before(&self, oldest: Timestamp, now: Timestamp) -> bool {
        match self.since {
            None => false,
            Some(Since::Time(time)) => time < oldest,
            Some(Since::Ago(length)) => now.duration_since(oldest).unsigned_abs() < length || oldest > now,
        }
    }

    pub(super) fn takes(&self, event: &EventView, now: Timestamp) -> bool {
        let is_young = match self.since {
            None => true,
            Some(Since::Time(time)) => event.timestamp >= time,
            // An event of the future, by a clock that was set back, is young.
            Some(Since::Ago(length)) => {
                now.duration_since(event.timestamp).unsigned_abs() <= length || event.timestamp > now
            }
        };
        let has_reason = self.reason.is_empty() || self.reason.contains(&event.reason);
        let named = |condition: &Name| self.condition.contains(condition);
        let has_condition = self.condition.is_empty() || event.condition.as_ref().is_some_and(named);
        is_young && has_reason && has_condition
    }
}
