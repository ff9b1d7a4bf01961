//! Its custom-plugin-monitor files: programs that are run at intervals. Two of its own programs are not run: what a
//! log-counter counts is a rule of ours, what a health-checker looks at is a check of ours.

mod counter;
pub(super) mod flags;
mod health;
mod task;
#[cfg(test)]
mod tests;

use std::time::Duration;

use nodewell_model::text::MESSAGE_LIMIT_BYTES;

pub(super) use task::is_log_counter;

use super::{conditions, json::Object, monitor_name, note_metrics};
use crate::{
    draft::Draft,
    plugin::{PluginMonitor, Task},
    report::Report,
    rule::Format,
};

const KEYS: [&str; 6] = ["plugin", "pluginConfig", "source", "metricsReporting", "conditions", "rules"];
const CONFIG_KEYS: [&str; 6] = [
    "invoke_interval",
    "timeout",
    "max_output_length",
    "concurrency",
    "enable_message_change_based_condition_update",
    "skip_initial_status",
];

/// Its own defaults.
const INTERVAL: Duration = Duration::from_secs(30);
const TIMEOUT: Duration = Duration::from_secs(5);
const OUTPUT_LIMIT_BYTES: usize = 80;
const CONCURRENCY: usize = 3;
/// More programs at once than a node should bear for its own health.
const MOST_CONCURRENT: i64 = 32;

/// `pluginConfig`: what all rules of a file share.
struct Shared {
    interval: Duration,
    timeout: Duration,
    output_limit_bytes: usize,
    concurrency: usize,
    follows_message: bool,
    skip_initial: bool,
}

/// All is read before anything is given up, so that all errors are reported.
pub(super) fn read(object: &Object<'_>, draft: &mut Draft, report: &mut Report<'_>) {
    object.note_unknown(&KEYS, report);
    let source = monitor_name(object, report);
    note_metrics(object, report);
    conditions::read(object, draft, report);
    let shared = read_shared(object, report);
    let found = task::read_all(object, task::Monitor { source: &source, shared: &shared }, draft, report);
    note_differences(object, &found, report);
    if found.is_empty() {
        return;
    }
    draft.plugins.push(PluginMonitor {
        location: report.location(object.at),
        format: Format::Npd,
        source,
        concurrency: shared.concurrency,
        skip_initial: shared.skip_initial,
        follows_message: shared.follows_message,
        tasks: found,
    });
}

fn note_differences(object: &Object<'_>, found: &[crate::plugin::PluginTask], report: &mut Report<'_>) {
    let runs: Vec<_> = found.iter().filter(|task| matches!(task.task, Task::Run { .. })).collect();
    if runs.iter().any(|task| task.condition.is_none()) {
        let message = "a temporary rule makes an Event when its problem begins and once an hour while it lasts; Node Problem \
                    Detector makes one with every run, also where the state is unknown";
        report.note(object.position("rules"), message);
    }
    if runs.iter().any(|task| task.condition.is_some()) {
        let message = "a run that fails or takes too long leaves a problem as it is, unconfirmed, and says why; Node Problem \
                    Detector takes the problem back";
        report.note(object.position("rules"), message);
    }
}

fn read_shared(object: &Object<'_>, report: &mut Report<'_>) -> Shared {
    let config = object.value("pluginConfig").and_then(|value| value.object("pluginConfig", report));
    let Some(config) = config else { return Shared::default() };
    config.note_unknown(&CONFIG_KEYS, report);
    Shared {
        interval: duration(&config, "invoke_interval", report).unwrap_or(INTERVAL),
        timeout: duration(&config, "timeout", report).unwrap_or(TIMEOUT),
        output_limit_bytes: read_output_limit(&config, report),
        concurrency: read_concurrency(&config, report),
        follows_message: switch(&config, "enable_message_change_based_condition_update", report),
        skip_initial: switch(&config, "skip_initial_status", report),
    }
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            interval: INTERVAL,
            timeout: TIMEOUT,
            output_limit_bytes: OUTPUT_LIMIT_BYTES,
            concurrency: CONCURRENCY,
            follows_message: false,
            skip_initial: false,
        }
    }
}

/// A duration that is longer than nothing.
fn duration(object: &Object<'_>, key: &str, report: &mut Report<'_>) -> Option<Duration> {
    let duration = super::read_duration(object, key, report)?;
    if duration.is_zero() {
        report.error(object.position(key), format!("{key:?} must be longer than nothing"));
        return None;
    }
    Some(duration)
}

fn switch(object: &Object<'_>, key: &str, report: &mut Report<'_>) -> bool {
    object.value(key).and_then(|value| value.read(key, "a boolean", report)).unwrap_or_default()
}

fn number(object: &Object<'_>, key: &str, report: &mut Report<'_>) -> Option<i64> {
    object.value(key)?.read(key, "a whole number", report)
}

fn read_output_limit(object: &Object<'_>, report: &mut Report<'_>) -> usize {
    let key = "max_output_length";
    let Some(limit) = number(object, key, report) else { return OUTPUT_LIMIT_BYTES };
    match usize::try_from(limit) {
        Ok(limit) if limit > MESSAGE_LIMIT_BYTES => {
            report.note(object.position(key), format!("a message has at most {MESSAGE_LIMIT_BYTES} bytes"));
            MESSAGE_LIMIT_BYTES
        }
        Ok(limit) => limit,
        Err(_) => {
            report.error(object.position(key), format!("{key:?} must not be negative"));
            OUTPUT_LIMIT_BYTES
        }
    }
}

fn read_concurrency(object: &Object<'_>, report: &mut Report<'_>) -> usize {
    let key = "concurrency";
    let Some(wanted) = number(object, key, report) else { return CONCURRENCY };
    if wanted < 1 {
        report.error(object.position(key), format!("{key:?} must be at least 1"));
    }
    if wanted > MOST_CONCURRENT {
        report.note(object.position(key), format!("{key:?} is cut to {MOST_CONCURRENT}"));
    }
    usize::try_from(wanted.clamp(1, MOST_CONCURRENT)).unwrap_or(CONCURRENCY)
}
