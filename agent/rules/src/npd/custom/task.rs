//! `rules`: what is run and what a bad result means.

use std::{path::PathBuf, sync::Arc, time::Duration};

use nodewell_model::{Name, Severity};

use super::{
    super::{json::Object, json::Text, names, place},
    Shared, counter, duration, health,
};
use crate::{
    draft::{Draft, Use},
    plugin::{PluginTask, Protocol, Task},
    report::Report,
};

const KEYS: [&str; 7] = ["type", "condition", "reason", "path", "args", "timeout", "invoke_interval"];
/// What its own programs are called, wherever they lie.
const HEALTH_CHECKER: &str = "health-checker";
const LOG_COUNTER: &str = "log-counter";

/// What a bad result of a rule means.
pub(super) struct Meaning<'a> {
    /// Where the rule stands.
    pub(super) at: usize,
    pub(super) source: &'a Arc<str>,
    pub(super) reason: Name,
    pub(super) condition: Option<Name>,
    pub(super) severity: Severity,
    pub(super) interval: Duration,
}

/// The monitor that a file describes, beside its tasks.
#[derive(Clone, Copy)]
pub(super) struct Monitor<'a> {
    pub(super) source: &'a Arc<str>,
    pub(super) shared: &'a Shared,
}

/// The good tasks of a file; what is no task of its own goes into `draft`.
pub(super) fn read_all(
    file: &Object<'_>,
    monitor: Monitor<'_>,
    draft: &mut Draft,
    report: &mut Report<'_>,
) -> Vec<PluginTask> {
    let objects = file.objects("rules", report);
    let mut tasks: Vec<PluginTask> = Vec::new();
    for object in objects {
        let task = read(&object, monitor, draft, report);
        tasks.extend(task.map(|task| PluginTask { name: free_name(&task.name, &tasks), ..task }));
    }
    tasks
}

/// Rules may be alike but for their type: `NTPIsDown`, `NTPIsDown-2`.
fn free_name(name: &str, taken: &[PluginTask]) -> String {
    let is_free = |name: &String| taken.iter().all(|task| task.name != *name);
    let numbered = (2_u32..).map(|number| format!("{name}-{number}"));
    let mut free = std::iter::once(name.to_owned()).chain(numbered).filter(is_free);
    free.next().unwrap_or_default()
}

fn read(object: &Object<'_>, monitor: Monitor<'_>, draft: &mut Draft, report: &mut Report<'_>) -> Option<PluginTask> {
    let Monitor { source, shared } = monitor;
    let before = report.count();
    object.note_unknown(&KEYS, report);
    let reason = names::read("reason", &object.text("reason", report), report);
    let condition = condition(object, draft, report);
    let interval = duration(object, "invoke_interval", report).unwrap_or(shared.interval);
    let timeout = timeout(object, shared, report);
    let path = object.text("path", report);
    let args = object.texts("args", report);
    let severity = if condition.is_some() { Severity::Error } else { Severity::Warn };
    // Without a reason the rest is still read, for its errors.
    let meaning = Meaning {
        at: object.at,
        source,
        reason: reason.unwrap_or(Name::fixed("Unnamed")),
        condition,
        severity,
        interval,
    };
    let task = match program_name(&path.text) {
        LOG_COUNTER => {
            let rule = counter::read(&args, &meaning, report).filter(|_| report.count() == before);
            draft.rules.extend(rule);
            return None;
        }
        HEALTH_CHECKER => Task::Health(health::read(&args, object.at, report)?),
        _ => Task::Run { path: program(&path, report)?, args: texts(args), protocol: Protocol::Npd },
    };
    (report.count() == before).then(|| PluginTask {
        location: report.location(object.at),
        name: meaning.reason.as_str().to_owned(),
        task,
        reason: meaning.reason,
        condition: meaning.condition,
        severity,
        subject: None,
        interval,
        timeout,
        output_limit_bytes: shared.output_limit_bytes,
        failures: 1,
        successes: 1,
    })
}

/// Whether the program is counted for here, and not run.
pub(in crate::npd) fn is_log_counter(path: &str) -> bool {
    program_name(path) == LOG_COUNTER
}

fn program_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn texts(args: Vec<Text>) -> Vec<String> {
    args.into_iter().map(|arg| arg.text).collect()
}

/// The condition of a permanent rule, which must be declared somewhere. Anything that is not `temporary` is permanent.
fn condition(object: &Object<'_>, draft: &mut Draft, report: &mut Report<'_>) -> Option<Name> {
    let kind = object.text("type", report);
    if kind.text == "temporary" {
        return None;
    }
    if kind.text != "permanent" {
        let shown = nodewell_model::text::cut(&kind.text, 64);
        report.note(kind.at, format!("type {shown:?} counts as permanent, as Node Problem Detector has it"));
    }
    let text = object.text("condition", report);
    if text.text.is_empty() {
        report.error(object.at, "a permanent rule needs \"condition\": the condition that it turns True");
        return None;
    }
    let name = names::read("condition", &text, report)?;
    draft.uses.push(Use::Condition(name.clone(), report.location(text.at)));
    Some(name)
}

fn timeout(object: &Object<'_>, shared: &Shared, report: &mut Report<'_>) -> Duration {
    let Some(timeout) = duration(object, "timeout", report) else { return shared.timeout };
    if timeout > shared.timeout {
        let most = crate::duration::shown(shared.timeout);
        report.error(object.position("timeout"), format!("\"timeout\" is longer than that of pluginConfig, {most}"));
    }
    timeout
}

fn program(path: &Text, report: &mut Report<'_>) -> Option<PathBuf> {
    if path.text.is_empty() || path.text.contains('\0') {
        report.error(path.at, "a rule needs \"path\", the program to run");
        return None;
    }
    Some(place::absolute(path, report))
}
