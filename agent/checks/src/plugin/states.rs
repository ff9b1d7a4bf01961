//! From results to what a daemon reports: problems that begin and end, what is unknown, Events. Pure.

mod subject;
mod task;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, time::Duration};

use crate::probe::{DeviceEvent, Verdict};
use jiff::Timestamp;
use nodewell_model::SubjectKey;
use nodewell_rules::plugin::PluginMonitor;

use super::result::RunResult;
use subject::state;
use task::TaskState;

/// What is known of all tasks of one daemon.
#[derive(Debug)]
pub struct PluginStates {
    tasks: Vec<TaskState>,
    /// The tasks of each.
    subjects: BTreeMap<SubjectKey, Vec<usize>>,
}

/// When a result came, by a clock for durations and one for people.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Now {
    pub since_start: Duration,
    pub wall: Timestamp,
}

/// What is to be reported after a run.
#[derive(Debug)]
pub struct RunReport {
    /// How the condition is that its task is about; with a number, for a caller that tracks several.
    pub verdict: Option<(usize, Verdict)>,
    pub events: Vec<DeviceEvent>,
    /// Whether every condition has been looked at: only then is what an earlier run reported, and this one does not,
    /// over.
    pub all_reported: bool,
}

impl PluginStates {
    /// The tasks of all `monitors`, numbered in their order.
    #[must_use]
    pub fn new(monitors: &[PluginMonitor]) -> Self {
        let tasks: Vec<TaskState> = monitors
            .iter()
            .flat_map(|monitor| monitor.tasks.iter().map(move |task| TaskState::new(monitor, task.clone())))
            .collect();
        let mut subjects: BTreeMap<SubjectKey, Vec<usize>> = BTreeMap::new();
        for (number, task) in tasks.iter().enumerate() {
            if let Some(key) = task.subject_key() {
                subjects.entry(key).or_default().push(number);
            }
        }
        Self { tasks, subjects }
    }

    /// Adds the result of a run of `task`.
    pub fn observe(&mut self, task: usize, result: RunResult, now: Now) -> Option<RunReport> {
        let known = self.tasks.get_mut(task)?;
        let events = known.observe(result, now);
        let key = known.subject_key();
        Some(RunReport { verdict: key.and_then(|key| self.verdict(key)), events, all_reported: self.all_reported() })
    }

    fn verdict(&self, key: SubjectKey) -> Option<(usize, Verdict)> {
        let tasks = self.subjects.get(&key)?;
        let state = state(tasks.iter().map(|task| &self.tasks[*task]))?;
        let number = self.subjects.range(..&key).count();
        Some((number, Verdict::new(key, state)))
    }

    fn all_reported(&self) -> bool {
        self.subjects.values().flatten().all(|task| self.tasks[*task].has_result())
    }
}
