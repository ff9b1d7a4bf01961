//! Tasks whose parent does not reap them, and tasks that wait in the kernel: those that two looks in a row show. A few
//! are normal at any moment.

use std::collections::{BTreeMap, BTreeSet};

use nodewell_hardware::{Fault, State, Verdict};
use nodewell_message::MessageArgs;
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
    /// How many, by parent.
    zombies: BTreeMap<String, u32>,
    blocked: Option<BlockedTasks>,
}

/// Tasks that wait in the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct BlockedTasks {
    count: usize,
    /// The most frequent ones.
    kinds: String,
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

    fn zombies(&self, now: &[Zombie], levels: Levels) -> BTreeMap<String, u32> {
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        for zombie in now.iter().filter(|zombie| self.zombies.contains(&zombie.id)) {
            *counts.entry(&zombie.parent).or_default() += 1;
        }
        let is_problem = |parent: &str, count: u32| {
            count >= if self.problems.zombies.contains_key(parent) { levels.low } else { levels.high }
        };
        let many = counts.into_iter().filter(|(parent, count)| is_problem(parent, *count));
        many.map(|(parent, count)| (parent.to_owned(), count)).collect()
    }

    /// One that has used nothing of a CPU since the look before, and slept then as it does now, has slept all the time.
    fn blocked(&self, now: &[Blocked], levels: Levels) -> Option<BlockedTasks> {
        let still = |task: &&Blocked| self.blocked.get(&task.id) == Some(&task.ticks);
        let still: Vec<&Blocked> = now.iter().filter(still).collect();
        let level = if self.problems.blocked.is_some() { levels.low } else { levels.high };
        let is_many = u32::try_from(still.len()).unwrap_or(u32::MAX) >= level;
        is_many.then(|| BlockedTasks { count: still.len(), kinds: kinds(&still) })
    }

    pub(super) fn keys(&self) -> Vec<SubjectKey> {
        let parents = self.problems.zombies.keys().map(String::as_str);
        let blocked = self.problems.blocked.iter().map(|_| BLOCKED);
        std::iter::once("").chain(parents).chain(blocked).map(|subject| subject_key(CONDITION, subject)).collect()
    }

    pub(super) fn verdicts(&self, settings: &LimitsSettings) -> Vec<Verdict> {
        let limits: MessageArgs<'_> = &[("zombies", &settings.zombies.high), ("blocked", &settings.blocked_tasks.high)];
        let healthy = State::healthy("TasksUnhealthy/healthy", limits);
        let faulty = |subject: &str, key, args: MessageArgs<'_>| {
            Verdict::new(subject_key(CONDITION, subject), State::Faulty(vec![Fault::of(key, args)]))
        };
        let zombies = self.problems.zombies.iter().map(|(parent, count)| {
            faulty(parent, "ZombieTasks", &[("count", count), ("limit", &settings.zombies.high)])
        });
        let blocked = self.problems.blocked.iter().map(|BlockedTasks { count, kinds }| {
            let limit = &settings.blocked_tasks.high;
            faulty(BLOCKED, "BlockedTasks", &[("count", count), ("limit", limit), ("tasks", kinds)])
        });
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
