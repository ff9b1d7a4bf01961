//! What a condition is: its healthy reason, the monitors whose rules raise it, and every reason that holds it True.

use std::path::PathBuf;

use nodewell_faults::reason;
use nodewell_model::{ConditionSpec, Name, Severity};
use nodewell_rules::{RuleSet, shipped};
use serde::Serialize;

use super::list::listed;

/// A condition, as people want to know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ExplainedCondition {
    #[serde(rename = "type")]
    pub(super) condition: Name,
    /// What it means that it is True; empty where no file explains it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) meaning: String,
    /// How it looks while no problem is known; `None` if only a table of codes names it.
    pub(super) healthy: Option<Healthy>,
    /// The monitors that have rules for it.
    pub(super) rules_of: Vec<String>,
    /// The files in which these rules stand, and plug-ins for it.
    pub(super) rules_in: Vec<PathBuf>,
    /// The checks that raise it without a rule, as their tables of the config are called.
    pub(super) checks: Vec<&'static str>,
    /// What holds it True; `nodewell explain` has more of each.
    pub(super) reasons: Vec<Held>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Healthy {
    pub(super) reason: Name,
    pub(super) message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Held {
    pub(super) reason: Name,
    pub(super) severity: Option<Severity>,
}

/// The condition `word`, in any case.
pub(super) fn explained(set: &RuleSet, word: &str) -> Option<ExplainedCondition> {
    let spec = all(set).into_iter().find(|spec| spec.condition.as_str().eq_ignore_ascii_case(word));
    let listed = listed(set);
    let mut named = listed.iter().filter_map(|entry| entry.condition.as_ref());
    let name = named.find(|name| name.as_str().eq_ignore_ascii_case(word));
    let condition = spec.as_ref().map(|spec| &spec.condition).or(name)?.clone();
    let held = listed.iter().filter(|entry| entry.condition.as_ref() == Some(&condition));
    let reasons = held.map(|entry| Held { reason: entry.reason.clone(), severity: entry.severity }).collect();
    let healthy = spec.map(|spec| Healthy { reason: spec.healthy_reason, message: spec.healthy_message });
    let meaning = set.meanings.get(&condition).cloned().unwrap_or_default();
    let (rules_of, rules_in, checks) = (monitors(set, &condition), files(set, &condition), checks(&condition));
    Some(ExplainedCondition { condition, meaning, healthy, rules_of, rules_in, checks, reasons })
}

/// The catalogue: what the rules declare, and what our monitors raise without rules.
pub(super) fn all(set: &RuleSet) -> Vec<ConditionSpec> {
    let more = shipped::own_conditions_beyond(&set.conditions);
    set.conditions.iter().cloned().chain(more).collect()
}

fn monitors(set: &RuleSet, condition: &Name) -> Vec<String> {
    let rules = set.rules.iter().filter(|rule| rule.condition.as_ref() == Some(condition));
    let mut names: Vec<String> = rules.map(|rule| rule.monitor.to_string()).collect();
    names.sort();
    names.dedup();
    names
}

fn files(set: &RuleSet, condition: &Name) -> Vec<PathBuf> {
    let rules = set.rules.iter().map(|rule| (rule.condition.as_ref(), &rule.location));
    let tasks = set.plugins.iter().flat_map(|monitor| &monitor.tasks);
    let tasks = tasks.map(|task| (task.condition.as_ref(), &task.location));
    let holding = rules.chain(tasks).filter(|(holds, _)| *holds == Some(condition));
    let mut files: Vec<PathBuf> = holding.map(|(_, location)| location.file.clone()).collect();
    files.sort();
    files.dedup();
    files
}

fn checks(condition: &Name) -> Vec<&'static str> {
    let holding = reason::all().iter().filter(|known| known.condition.as_ref() == Some(condition));
    let mut checks: Vec<&'static str> = holding.filter_map(|known| reason::check_of(&known.name)).collect();
    checks.sort_unstable();
    checks.dedup();
    checks
}
