//! How far back a start looks: what was logged before is history for a rule, or none of its business.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_model::{Name, Record};

use crate::rule::{Format, Rule, RuleSet};

/// When the agent started and how far back rules look that set nothing else.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start {
    pub(super) at: Timestamp,
    pub(super) default_lookback: Duration,
}

impl Start {
    /// Whether `rule` must not see `record` at all: Node Problem Detector begins to read at boot + `delay` or at
    /// start − `lookback`, whichever is later.
    pub(super) fn ignores(&self, rule: &Rule, record: &Record<'_>) -> bool {
        if record.test || rule.format != Format::Npd {
            return false;
        }
        let delayed = rule.boot_delay.zip(record.since_boot).is_some_and(|(delay, since)| since < delay);
        delayed || self.is_before(npd_lookback(rule), record)
    }

    /// Whether a finding of `rule` that holds `condition` is history: an event was reported when it was news, but what
    /// lasts may still last.
    pub(super) fn is_history(&self, rule: &Rule, condition: Option<&Name>, record: &Record<'_>) -> bool {
        let event = rule.format == Format::Native && condition.is_none();
        event && !record.test && self.is_before(self.default_lookback, record)
    }

    fn is_before(&self, lookback: Duration, record: &Record<'_>) -> bool {
        record.time < self.at.checked_sub(lookback).unwrap_or(Timestamp::MIN)
    }
}

impl RuleSet {
    /// How far back from the agent's start a rule of `reader` wants to look; `default` is for rules that set nothing.
    /// Zero if no rule listens to it.
    #[must_use]
    pub fn longest_lookback(&self, reader: usize, default: Duration) -> Duration {
        let wanted = |rule: &Rule| match rule.format {
            Format::Native => default,
            Format::Npd => npd_lookback(rule),
        };
        self.rules.iter().filter(|rule| rule.reader == reader).map(wanted).max().unwrap_or_default()
    }
}

/// Its own default: nothing from before the start.
fn npd_lookback(rule: &Rule) -> Duration {
    rule.lookback.unwrap_or_default()
}
