//! How much a counter of errors has grown within a time: what rates are judged by.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A window is stored in so many parts: what is older than the window leaves in steps.
const PARTS: u64 = 12;

/// What is known of a counter's life before it was first read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// It was zero when the kernel started.
    AtBoot,
    /// It may be as old as the device.
    Unknown,
}

/// The window of a rate, and where its counter starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub length: Duration,
    pub start: Start,
}

/// The growth of one counter, on the clock that counts from boot and never jumps.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Growth {
    last: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    steps: Vec<Step>,
}

/// What came within one part of the window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Step {
    first_secs: u64,
    last_secs: u64,
    count: u64,
    /// In how many readings.
    readings: u64,
}

impl Growth {
    /// As it is for a counter that was last read as zero.
    pub fn from_zero() -> Self {
        Self { last: Some(0), steps: Vec::new() }
    }

    /// Whether it is so: nothing that would have to be remembered.
    pub fn is_from_zero(&self) -> bool {
        *self == Self::from_zero()
    }

    /// Adds a reading, and returns by how much the counter has grown. One that went back was reset (its device came
    /// back, or an operator set it to zero): it is counted from there.
    pub fn observe(&mut self, count: u64, now: Duration, window: Window) -> u64 {
        let grown = self.since_last(count, now, window);
        self.last = Some(count);
        self.add(grown, now.as_secs(), window);
        grown
    }

    /// Adds a reading whose growth has a reason that is no fault.
    pub fn excuse(&mut self, count: u64) {
        self.last = Some(count);
    }

    /// Growth that was found by other means than the counter.
    pub fn add(&mut self, grown: u64, now_secs: u64, window: Window) {
        let oldest = now_secs.saturating_sub(window.length.as_secs());
        // What lies ahead of now is of another boot whose id is unknown.
        self.steps.retain(|step| (oldest..=now_secs).contains(&step.last_secs));
        if grown == 0 {
            return;
        }
        let part = window.length.as_secs() / PARTS;
        match self.steps.last_mut().filter(|step| now_secs < step.first_secs.saturating_add(part)) {
            Some(step) => step.take(grown, now_secs),
            None => self.steps.push(Step { first_secs: now_secs, last_secs: now_secs, count: grown, readings: 1 }),
        }
    }

    /// What came within the window; right to one part of it.
    pub fn within(&self) -> u64 {
        self.steps.iter().fold(0, |sum, step| sum.saturating_add(step.count))
    }

    /// In how many readings of the window it had grown.
    pub fn readings(&self) -> u64 {
        self.steps.iter().fold(0, |sum, step| sum.saturating_add(step.readings))
    }

    fn since_last(&self, count: u64, now: Duration, window: Window) -> u64 {
        match self.last {
            Some(last) => count.saturating_sub(last),
            // All of its life lies within the window.
            None if window.start == Start::AtBoot && now < window.length => count,
            None => 0,
        }
    }
}

impl Step {
    fn take(&mut self, grown: u64, now_secs: u64) {
        self.last_secs = now_secs;
        self.count = self.count.saturating_add(grown);
        self.readings = self.readings.saturating_add(1);
    }
}

/// `count` to its first digit and downwards (1, 2 or 5): a message that does not change with every reading.
pub fn rounded(count: u64) -> u64 {
    let mut scale: u64 = 1;
    while count / scale >= 10 {
        scale = scale.saturating_mul(10);
    }
    match count / scale {
        0 => 0,
        1 => scale,
        2..=4 => 2 * scale,
        _ => 5 * scale,
    }
}

#[cfg(test)]
mod tests;
