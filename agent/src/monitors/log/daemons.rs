//! What the monitors that share a reader report of themselves: each with the conditions that its rules watch.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use nodewell_ledger::DaemonReport;
use nodewell_model::{Name, view::DaemonState};
use nodewell_rules::{Reader, RuleSet};

use crate::sources::SourceState;

/// Three heartbeats: silence for longer is death.
pub(super) const TTL: Duration = Duration::from_secs(180);

/// The monitors that share a reader, each with the conditions that its rules watch.
#[must_use]
pub fn monitor_names(rules: &RuleSet, reader: &Reader) -> BTreeMap<Arc<str>, Vec<Name>> {
    let mut monitors: BTreeMap<Arc<str>, Vec<Name>> = BTreeMap::new();
    for rule in rules.rules.iter().filter(|rule| rules.readers.get(rule.reader) == Some(reader)) {
        let watches = monitors.entry(Arc::clone(&rule.monitor)).or_default();
        let watched =
            rule.condition.iter().filter(|condition| rule.shows_healthy_condition && !watches.contains(condition));
        let watched: Vec<Name> = watched.cloned().collect();
        watches.extend(watched);
    }
    monitors
}

/// What the monitors of a reader report of themselves while its source is in `state`.
#[must_use]
pub fn daemon_reports(rules: &RuleSet, reader: &Reader, state: &SourceState) -> Vec<DaemonReport> {
    match state {
        SourceState::Running => reports(rules, reader, DaemonState::Running, None),
        SourceState::Blind { reason, message } => {
            reports(rules, reader, DaemonState::Blind, Some((reason.clone(), message)))
        }
    }
}

/// The monitors of a reader that has not reported anything yet.
#[must_use]
pub fn starting_reports(rules: &RuleSet, reader: &Reader) -> Vec<DaemonReport> {
    reports(rules, reader, DaemonState::Starting, None)
}

/// The monitors of a reader whose thread ended.
#[must_use]
pub fn dead_reports(rules: &RuleSet, reader: &Reader, message: &str) -> Vec<DaemonReport> {
    reports(rules, reader, DaemonState::Dead, Some((Name::fixed("MonitorDied"), message)))
}

fn reports(rules: &RuleSet, reader: &Reader, state: DaemonState, why: Option<(Name, &str)>) -> Vec<DaemonReport> {
    let (reason, message) = why.unzip();
    monitor_names(rules, reader)
        .into_iter()
        .map(|(name, watches)| DaemonReport {
            name,
            state,
            reason: reason.clone(),
            message: message.unwrap_or_default().to_owned(),
            watches,
            ttl: Some(TTL),
            records: 0,
            lost: 0,
        })
        .collect()
}
