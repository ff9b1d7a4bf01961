//! What is remembered of one disk: whether it is slow, and the windows that speak for and against it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{
    SlowDisksSettings,
    compare::{Figures, Outcome},
    load::SAMPLES,
};

/// Windows that lie further back do not add up to a slow disk, or a job of half an hour each night would make one.
const SLOW_MEMORY_SECS: u64 = 6 * 3600;
/// The same of one that is well again, whose load may come once a day.
const WELL_MEMORY_SECS: u64 = 24 * 3600;
/// A disk that is missing from so many readings is gone. One or two may come from a bus that was reset.
const MISSES: u32 = 3;

/// One disk's saved state.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Watched {
    /// The device, as the `disk` check calls it.
    pub(super) subject: String,
    /// As it was when that was found: the message stays the same while it holds.
    pub(super) slow: Option<Figures>,
    windows: VecDeque<Window>,
    /// In how many readings in a row it was missing, or without siblings.
    #[serde(skip)]
    misses: u32,
}

/// One window in which it could be compared, and which was clear.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Window {
    boottime_secs: u64,
    is_slow: bool,
}

impl Watched {
    /// Adds a window. Three quarters of the last ones turn the verdict, either way. One that is not clear changes
    /// nothing, nor does one without load, which never gets here.
    pub(super) fn observe(&mut self, outcome: Outcome, boottime_secs: u64, settings: &SlowDisksSettings) {
        let slow = match outcome {
            Outcome::Slow(figures) => Some(figures),
            Outcome::Well => None,
            Outcome::Unclear => return,
        };
        let (most, memory) = (settings.windows as usize, self.memory_secs(settings));
        self.windows.retain(|window| boottime_secs.saturating_sub(window.boottime_secs) <= memory);
        self.windows.push_back(Window { boottime_secs, is_slow: slow.is_some() });
        while self.windows.len() > most {
            self.windows.pop_front();
        }
        let contrary = self.windows.iter().filter(|window| window.is_slow != self.slow.is_some()).count();
        if contrary >= needed(most) {
            self.slow = slow;
            self.windows.clear();
        }
    }

    /// With long intervals twice what all windows take.
    fn memory_secs(&self, settings: &SlowDisksSettings) -> u64 {
        let least = if self.slow.is_some() { WELL_MEMORY_SECS } else { SLOW_MEMORY_SECS };
        let window = settings.interval.as_secs().saturating_mul(SAMPLES as u64);
        least.max(window.saturating_mul(2 * u64::from(settings.windows)))
    }

    pub(super) fn found(&mut self, subject: &str) {
        self.misses = 0;
        if self.subject != subject {
            subject.clone_into(&mut self.subject);
        }
    }

    /// It was not in a reading, or without siblings in it. Whether that was once too often.
    pub(super) fn missed(&mut self) -> bool {
        self.misses = self.misses.saturating_add(1);
        self.misses >= MISSES
    }

    /// Nothing that would have to be remembered.
    pub(super) fn is_nothing(&self) -> bool {
        self.slow.is_none() && !self.windows.iter().any(|window| window.is_slow)
    }
}

fn needed(most: usize) -> usize {
    most.saturating_mul(3).div_ceil(4).max(1)
}
