//! When each task is due: at its own pace, never over itself, at most so many at once. Pure; time is a clock that stands
//! still while the machine sleeps, so that a wake-up brings no burst.

use std::time::Duration;

/// The due times of all tasks of one daemon.
#[derive(Debug, Default)]
pub struct Schedule {
    slots: Vec<Slot>,
    groups: Vec<ConcurrencyGroup>,
}

/// One task.
#[derive(Debug)]
struct Slot {
    group: usize,
    interval: Duration,
    due: Duration,
    is_running: bool,
}

/// Tasks that share a limit.
#[derive(Debug)]
struct ConcurrencyGroup {
    limit: usize,
    running: usize,
}

/// When a task runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    pub interval: Duration,
    /// Of the first run.
    pub first: Duration,
}

/// A start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    pub task: usize,
    /// When it should have been.
    pub due: Duration,
    /// Its ticks that went by unused.
    pub skipped: u64,
}

impl Schedule {
    /// More tasks, numbered on from those before, of which at most `limit` run at once.
    pub fn add(&mut self, limit: usize, tasks: impl IntoIterator<Item = Timing>) {
        let group = self.groups.len();
        self.groups.push(ConcurrencyGroup { limit: limit.max(1), running: 0 });
        let slot = |Timing { interval, first }: Timing| {
            // An interval of nothing would never let another task run.
            Slot { group, interval: interval.max(Duration::from_millis(1)), due: first, is_running: false }
        };
        self.slots.extend(tasks.into_iter().map(slot));
    }

    /// The task that is due the longest and may run; it runs from now on.
    pub fn start(&mut self, now: Duration) -> Option<Start> {
        let ready = self.slots.iter().enumerate().filter(|(_, slot)| slot.due <= now && self.may_run(slot));
        let task = ready.min_by_key(|(_, slot)| slot.due).map(|(task, _)| task)?;
        let slot = &mut self.slots[task];
        self.groups[slot.group].running += 1;
        slot.is_running = true;
        let due = slot.due;
        // What it is late by is skipped, all but the tick that it runs for.
        let skipped = ticks(now - due, slot.interval);
        let due = later(due, slot.interval, skipped);
        slot.due = later(due, slot.interval, 1);
        Some(Start { task, due, skipped })
    }

    /// A run has ended. Ticks that it took are skipped; returns how many.
    pub fn ended(&mut self, task: usize, now: Duration) -> u64 {
        let Some(slot) = self.slots.get_mut(task).filter(|slot| slot.is_running) else { return 0 };
        slot.is_running = false;
        self.groups[slot.group].running -= 1;
        if slot.due > now {
            return 0;
        }
        let missed = ticks(now - slot.due, slot.interval) + 1;
        slot.due = later(slot.due, slot.interval, missed);
        missed
    }

    /// When the next task is due that could run then; `None` while all wait for others to end.
    #[must_use]
    pub fn next(&self) -> Option<Duration> {
        self.slots.iter().filter(|slot| self.may_run(slot)).map(|slot| slot.due).min()
    }

    fn may_run(&self, slot: &Slot) -> bool {
        let group = &self.groups[slot.group];
        !slot.is_running && group.running < group.limit
    }
}

/// Whole intervals in `time`.
fn ticks(time: Duration, interval: Duration) -> u64 {
    u64::try_from(time.as_nanos() / interval.as_nanos().max(1)).unwrap_or(u64::MAX)
}

fn later(due: Duration, interval: Duration, ticks: u64) -> Duration {
    let nanos = interval.as_nanos().saturating_mul(u128::from(ticks));
    due.saturating_add(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
}

/// A first moment within the interval, and soon: a file's programs do not all start at once, and one that runs once a day
/// reports at once. `random` spreads them.
#[must_use]
pub fn first(interval: Duration, random: u64) -> Duration {
    /// The longest delay after the start of the node.
    const WITHIN: Duration = Duration::from_secs(5);
    let span = u64::try_from(interval.min(WITHIN).as_millis()).unwrap_or(1).max(1);
    Duration::from_millis(random % span)
}

#[cfg(test)]
mod tests;
