//! What a reason means: the tables behind `nodewell explain`.

use std::path::PathBuf;

use nodewell_model::{Action, Name, Severity};
use serde::Serialize;

use crate::{
    Reader, Rule, RuleSet, duration,
    nearest::nearest,
    plugin::{PluginMonitor, PluginTask, Task},
    rule::{Clears, RecoveryCheck},
};

/// A reason and every rule that reports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub struct Explanation {
    pub reason: Name,
    /// In the order in which they are tried.
    pub rules: Vec<ExplainedRule>,
}

/// One rule, as people want to know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub struct ExplainedRule {
    /// `temporary` or `permanent`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub condition: Option<Name>,
    pub severity: Severity,
    /// Whose claim it is, such as `kernel-monitor`.
    pub monitor: String,
    /// Where the lines come from.
    pub source: String,
    pub patterns: Vec<String>,
    /// `5 matches within 20m`, for counting rules.
    pub counting: Option<String>,
    /// Each way in which the problem ends, as a phrase.
    pub ends: Vec<String>,
    pub action: Option<Action>,
    /// Which kernels or programs print it.
    pub origin: String,
    /// What it means and what to do.
    pub explain: String,
    /// Lines that it finds.
    pub examples: Vec<String>,
    pub file: PathBuf,
    pub line: usize,
    /// `file:line` of the override that changed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overridden: Option<String>,
}

/// Explains `reason`, in any case; `None` if no rule reports it.
#[must_use]
pub fn explain(set: &RuleSet, reason: &str) -> Option<Explanation> {
    let rules = set.rules.iter().map(|rule| &rule.reason);
    let name = rules.chain(tasks(set).map(|(_, task)| &task.reason));
    let name = name.into_iter().find(|known| known.as_str().eq_ignore_ascii_case(reason))?;
    let rules = set.rules.iter().filter(|rule| rule.reason == *name).map(|rule| explained(set, rule));
    let tasks = tasks(set).filter(|(_, task)| task.reason == *name).map(|(monitor, task)| of_task(monitor, task));
    Some(Explanation { reason: name.clone(), rules: rules.chain(tasks).collect() })
}

/// The word that an unknown one was probably meant to be.
#[must_use]
pub fn nearest_word<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest(word, known)
}

fn explained(set: &RuleSet, rule: &Rule) -> ExplainedRule {
    let counting = rule.counting.as_ref();
    ExplainedRule {
        kind: if rule.condition.is_some() { "permanent" } else { "temporary" },
        condition: rule.condition.clone(),
        severity: rule.severity,
        monitor: rule.monitor.to_string(),
        source: set.readers.get(rule.reader).map(Reader::described).unwrap_or_default(),
        patterns: rule.patterns.clone(),
        counting: counting.map(|c| format!("{} matches within {}", c.count, duration::shown(c.window))),
        ends: if rule.condition.is_some() { ways(&rule.clears) } else { Vec::new() },
        action: rule.action,
        origin: rule.origin.clone(),
        explain: rule.explain.clone(),
        examples: rule.examples.matches.iter().map(|example| example.text.clone()).collect(),
        file: rule.location.file.clone(),
        line: rule.location.line,
        overridden: rule.overridden.as_ref().map(ToString::to_string),
    }
}

fn tasks(set: &RuleSet) -> impl Iterator<Item = (&PluginMonitor, &PluginTask)> {
    set.plugins.iter().flat_map(|monitor| monitor.tasks.iter().map(move |task| (monitor, task)))
}

/// A plug-in, or a check that stands for one.
fn of_task(monitor: &PluginMonitor, task: &PluginTask) -> ExplainedRule {
    let is_lasting = task.condition.is_some();
    let ends = ["when a run finds nothing wrong", "by `nodewell clear`"].map(str::to_owned).to_vec();
    ExplainedRule {
        kind: if is_lasting { "permanent" } else { "temporary" },
        condition: task.condition.clone(),
        severity: task.severity,
        monitor: monitor.source.to_string(),
        source: what_is_run(task),
        patterns: Vec::new(),
        counting: (task.failures > 1).then(|| format!("{} bad results in a row", task.failures)),
        ends: if is_lasting { ends } else { Vec::new() },
        action: None,
        origin: String::new(),
        explain: String::new(),
        examples: Vec::new(),
        file: task.location.file.clone(),
        line: task.location.line,
        overridden: None,
    }
}

fn what_is_run(task: &PluginTask) -> String {
    let interval = duration::shown(task.interval);
    match &task.task {
        Task::Run { path, args, protocol } => {
            let command = std::iter::once(path.display().to_string()).chain(args.iter().cloned());
            let command = command.collect::<Vec<_>>().join(" ");
            format!("every {interval} the program {command} ({})", protocol.as_str())
        }
        Task::Health(checker) => {
            format!("every {interval} a look at {} ({})", checker.component.as_str(), checker.unit)
        }
    }
}

/// How a problem ends, as phrases after "ends".
pub(crate) fn ways(clears: &Clears) -> Vec<String> {
    let mut ways: Vec<String> =
        clears.patterns.iter().map(|pattern| format!("when a line matches {pattern}")).collect();
    ways.extend(clears.check.map(|check| check_phrase(check).to_owned()));
    ways.extend(clears.quiet.map(|quiet| format!("when nothing repeats it for {}", duration::shown(quiet))));
    ways.extend(clears.boot.then(|| "with a new boot".to_owned()));
    ways.push("by `nodewell clear`".to_owned());
    ways
}

fn check_phrase(check: RecoveryCheck) -> &'static str {
    match check {
        RecoveryCheck::FilesystemWritable => "when the filesystem takes writes again or is gone",
        RecoveryCheck::DevicePresent => "when the device answers again or is gone",
        RecoveryCheck::DeviceRecovered => "when the device's monitor sees that it has recovered or was replaced",
    }
}
