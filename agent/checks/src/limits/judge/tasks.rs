//! Tasks whose parent does not reap them, and tasks that wait in the kernel: those that two looks in a row show. A few
//! are normal at any moment.

use std::collections::{BTreeMap, BTreeSet};

use crate::probe::{DeviceEvent, Fault, Now, State, Verdict};
use nodewell_message::MessageArgs;
use nodewell_model::SubjectKey;
use serde::{Deserialize, Serialize};

use super::{gauge::subject_key, pod_zombies::PodZombies};
use crate::{
    limits::{
        Levels, LimitsSettings,
        reading::{Blocked, Owner, Process, Scan, TaskId, Zombie},
    },
    pod_names::PodNames,
};

const CONDITION: &str = "TasksUnhealthy";
/// The subject of tasks that wait.
const BLOCKED: &str = "blocked tasks";
/// So many kinds of tasks are named, and so many pods.
const NAMED: usize = 3;

/// A process with zombies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parent<'a> {
    pub(super) process: &'a Process,
    pub(super) zombies: u32,
}

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
    /// How many, by parent. Those of pods are no problem of the node.
    zombies: BTreeMap<String, u32>,
    #[serde(default)]
    pods: PodZombies,
    blocked: Option<BlockedTasks>,
}

/// Tasks that wait in the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct BlockedTasks {
    count: usize,
    /// The most frequent ones.
    kinds: String,
    /// Those with the most; empty where none of the tasks is a pod's.
    #[serde(default)]
    pods: String,
}

impl Tasks {
    pub(super) fn load(problems: TaskProblems) -> Self {
        Self { problems, ..Self::default() }
    }

    pub(super) fn saved(&self) -> &TaskProblems {
        &self.problems
    }

    /// What is to be reported of pods.
    pub(super) fn take(
        &mut self,
        scan: &Scan,
        settings: &LimitsSettings,
        names: &PodNames,
        now: &Now,
    ) -> Vec<DeviceEvent> {
        let mut events = Vec::new();
        if self.was_looked {
            let parents = self.parents(&scan.zombies);
            self.problems.zombies = self.of_the_node(&parents, settings.zombies);
            events = self.problems.pods.take(&worst_of_pods(&parents), settings.zombies, names, now);
            self.problems.blocked = self.blocked(&scan.blocked, settings.blocked_tasks, names);
        }
        self.was_looked = true;
        self.zombies = scan.zombies.iter().map(|zombie| zombie.id).collect();
        self.blocked = scan.blocked.iter().map(|task| (task.id, task.ticks)).collect();
        events
    }

    /// Of the zombies that the look before showed, too.
    fn parents<'a>(&self, now: &'a [Zombie]) -> Vec<Parent<'a>> {
        let mut counts: BTreeMap<&Process, u32> = BTreeMap::new();
        for zombie in now.iter().filter(|zombie| self.zombies.contains(&zombie.id)) {
            *counts.entry(&zombie.parent).or_default() += 1;
        }
        counts.into_iter().map(|(process, zombies)| Parent { process, zombies }).collect()
    }

    fn of_the_node(&self, parents: &[Parent<'_>], levels: Levels) -> BTreeMap<String, u32> {
        let is_problem = |parent: &str, count: u32| {
            count >= if self.problems.zombies.contains_key(parent) { levels.low } else { levels.high }
        };
        let nodes = parents.iter().filter(|parent| !matches!(parent.process.owner, Some(Owner::Pod(_))));
        let named = nodes.map(|parent| (subject(parent.process), parent.zombies));
        named.filter(|(parent, count)| is_problem(parent, *count)).collect()
    }

    /// One that has used nothing of a CPU since the look before, and slept then as it does now, has slept all the time.
    /// Tasks of pods count, too: what they wait for is a disk or a server of the node.
    fn blocked(&self, now: &[Blocked], levels: Levels, names: &PodNames) -> Option<BlockedTasks> {
        let still = |task: &&Blocked| self.blocked.get(&task.id) == Some(&task.ticks);
        let still: Vec<&Blocked> = now.iter().filter(still).collect();
        let level = if self.problems.blocked.is_some() { levels.low } else { levels.high };
        let is_many = u32::try_from(still.len()).unwrap_or(u32::MAX) >= level;
        is_many.then(|| BlockedTasks { count: still.len(), kinds: kinds(&still), pods: pods(&still, names) })
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
        let blocked = self.problems.blocked.iter().map(|BlockedTasks { count, kinds, pods }| {
            let limit = &settings.blocked_tasks.high;
            match pods.is_empty() {
                true => faulty(BLOCKED, "BlockedTasks", &[("count", count), ("limit", limit), ("tasks", kinds)]),
                false => {
                    let args: MessageArgs<'_> = &[("count", count), ("limit", limit), ("tasks", kinds), ("pods", pods)];
                    faulty(BLOCKED, "BlockedTasks/of-pods", args)
                }
            }
        });
        std::iter::once(Verdict::new(subject_key(CONDITION, ""), healthy)).chain(zombies).chain(blocked).collect()
    }
}

/// `cron (pid 812) of cron.service`: what a condition's message begins with, whichever parent is shown.
fn subject(parent: &Process) -> String {
    let Process { pid, name, owner } = parent;
    match owner {
        Some(Owner::Unit(unit)) => format!("{name} (pid {pid}) of {unit}"),
        Some(Owner::Pod(uid)) => format!("{name} (pid {pid}) of pod {uid}"),
        None => format!("{name} (pid {pid})"),
    }
}

/// By uid: of each pod the process with the most zombies.
fn worst_of_pods<'a>(parents: &[Parent<'a>]) -> BTreeMap<&'a str, Parent<'a>> {
    let mut worst: BTreeMap<&str, Parent<'a>> = BTreeMap::new();
    for parent in parents {
        let Some(Owner::Pod(uid)) = &parent.process.owner else { continue };
        let known = worst.entry(uid).or_insert(*parent);
        if known.zombies < parent.zombies {
            *known = *parent;
        }
    }
    worst
}

/// `default/web-0, kube-system/dns-1 and 3 more`: those with the most tasks.
fn pods(tasks: &[&Blocked], names: &PodNames) -> String {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for uid in tasks.iter().filter_map(|task| task.pod.as_deref()) {
        *counts.entry(uid).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let named = counts.iter().take(NAMED).map(|(uid, _)| names.name_or_uid(uid)).collect::<Vec<_>>().join(", ");
    match counts.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
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
