//! Tasks whose parent does not reap them, and tasks that wait in the kernel: those that two looks in a row show. A few
//! are normal at any moment.

use std::collections::{BTreeMap, BTreeSet};

use nodewell_faults::message;
use nodewell_hardware::{Fault, State, Verdict};
use nodewell_message::Figures;
use nodewell_model::SubjectKey;
use serde::{Deserialize, Serialize};

use super::gauge::subject_key;
use crate::{
    limits::reading::{Blocked, Scan, TaskId, Zombie},
    settings::{Levels, LimitsSettings},
};

const CONDITION: &str = "TasksUnhealthy";
/// The subject of tasks that wait.
const BLOCKED: &str = "blocked tasks";
/// So many kinds are named.
const NAMED: usize = 3;

/// What the last look showed, and what it means.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    zombies: BTreeSet<TaskId>,
    /// With what they had used of the CPU.
    blocked: BTreeMap<TaskId, u64>,
    was_looked: bool,
    problems: TaskProblems,
}

/// What is saved.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TaskProblems {
    /// By parent.
    zombies: BTreeMap<String, String>,
    blocked: Option<String>,
}

impl Tasks {
    pub(super) fn load(problems: TaskProblems) -> Self {
        Self { problems, ..Self::default() }
    }

    pub(super) fn saved(&self) -> &TaskProblems {
        &self.problems
    }

    pub(super) fn take(&mut self, scan: &Scan, settings: &LimitsSettings) {
        if self.was_looked {
            self.problems.zombies = self.zombies(&scan.zombies, settings.zombies);
            self.problems.blocked = self.blocked(&scan.blocked, settings.blocked_tasks);
        }
        self.was_looked = true;
        self.zombies = scan.zombies.iter().map(|zombie| zombie.id).collect();
        self.blocked = scan.blocked.iter().map(|task| (task.id, task.ticks)).collect();
    }

    fn zombies(&self, now: &[Zombie], levels: Levels) -> BTreeMap<String, String> {
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        for zombie in now.iter().filter(|zombie| self.zombies.contains(&zombie.id)) {
            *counts.entry(&zombie.parent).or_default() += 1;
        }
        let is_problem = |parent: &str, count: u32| {
            count >= if self.problems.zombies.contains_key(parent) { levels.low } else { levels.high }
        };
        let many = counts.into_iter().filter(|(parent, count)| is_problem(parent, *count));
        let message = |count| message("ZombieTasks", &[("count", &count), ("limit", &levels.high)]);
        many.map(|(parent, count)| (parent.to_owned(), message(count))).collect()
    }

    /// One that has used nothing of a CPU since the look before, and slept then as it does now, has slept all the time.
    fn blocked(&self, now: &[Blocked], levels: Levels) -> Option<String> {
        let still = |task: &&Blocked| self.blocked.get(&task.id) == Some(&task.ticks);
        let still: Vec<&Blocked> = now.iter().filter(still).collect();
        let level = if self.problems.blocked.is_some() { levels.low } else { levels.high };
        let is_many = u32::try_from(still.len()).unwrap_or(u32::MAX) >= level;
        let message = || {
            let figures: Figures<'_> = &[("count", &still.len()), ("limit", &levels.high), ("tasks", &kinds(&still))];
            message("BlockedTasks", figures)
        };
        is_many.then(message)
    }

    pub(super) fn keys(&self) -> Vec<SubjectKey> {
        let parents = self.problems.zombies.keys().map(String::as_str);
        let blocked = self.problems.blocked.iter().map(|_| BLOCKED);
        std::iter::once("").chain(parents).chain(blocked).map(|subject| subject_key(CONDITION, subject)).collect()
    }

    pub(super) fn verdicts(&self, settings: &LimitsSettings) -> Vec<Verdict> {
        let limits: Figures<'_> = &[("zombies", &settings.zombies.high), ("blocked", &settings.blocked_tasks.high)];
        let healthy = State::healthy("TasksUnhealthy/healthy", limits);
        let faulty = |subject: &str, reason, message: &str| {
            Verdict::new(subject_key(CONDITION, subject), State::Faulty(vec![Fault::new(reason, message)]))
        };
        let zombies = self.problems.zombies.iter().map(|(parent, message)| faulty(parent, "ZombieTasks", message));
        let blocked = self.problems.blocked.iter().map(|message| faulty(BLOCKED, "BlockedTasks", message));
        std::iter::once(Verdict::new(subject_key(CONDITION, ""), healthy)).chain(zombies).chain(blocked).collect()
    }
}

/// `7 × jbd2/sda1-8, 3 × postgres (io_schedule)`: the most frequent ones.
fn kinds(tasks: &[&Blocked]) -> String {
    let mut counts: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for task in tasks {
        *counts.entry((&task.name, &task.wait_channel)).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let word = |((name, wait_channel), count): &((&str, &str), u32)| match wait_channel.is_empty() {
        true => format!("{count} × {name}"),
        false => format!("{count} × {name} ({wait_channel})"),
    };
    counts.iter().take(NAMED).map(word).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
