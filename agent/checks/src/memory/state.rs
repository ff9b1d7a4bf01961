//! What is remembered of one module: its counters, what it lost in this boot, and a day's corrected errors.

use serde::{Deserialize, Serialize};

use super::{bucket::Bucket, reading::Errors};

const DAY_SECS: u64 = 24 * 60 * 60;

/// One module, or what a controller could not place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ModuleState {
    pub(super) label: String,
    /// The counters as they were last read in this boot.
    pub(super) corrected: Option<u64>,
    uncorrected: Option<u64>,
    /// Uncorrected errors of this boot.
    pub(super) lost: u64,
    pub(super) bucket: Bucket,
}

/// What a controller reports of the counters of its modules.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counting {
    pub(super) capacity: u32,
    /// How long they have been counting.
    pub(super) secs: Option<u64>,
    /// Whether they were reset since they were last read, if that is known.
    pub(super) restarted: Option<bool>,
}

impl ModuleState {
    /// The counters begin at zero, and what was replaced is unknown; worn modules stay worn.
    pub(super) fn begin_boot(&mut self) {
        *self = Self {
            label: std::mem::take(&mut self.label),
            bucket: std::mem::take(&mut self.bucket),
            ..Self::default()
        };
    }

    /// Adds counters; returns how many uncorrected errors are new.
    pub(super) fn count(&mut self, errors: Errors, counting: Counting) -> u64 {
        if let Some(now) = errors.corrected {
            let new_errors = match self.corrected {
                Some(before) => growth(before, now, counting.restarted),
                // Those of a longer time prove nothing about a day.
                None if counting.secs.is_some_and(|secs| secs <= DAY_SECS) => now,
                None => 0,
            };
            self.bucket.add(new_errors, counting.capacity);
            self.corrected = Some(now);
        }
        let Some(now) = errors.uncorrected else { return 0 };
        let new_errors = growth(self.uncorrected.unwrap_or(0), now, counting.restarted);
        self.lost = self.lost.saturating_add(new_errors);
        self.uncorrected = Some(now);
        new_errors
    }

    /// Whether there is anything to report of what has no module.
    pub(super) fn is_blank(&self) -> bool {
        self.lost == 0 && self.bucket.level() == 0
    }
}

/// What is new of a counter. One that goes back was reset (`reset_counters`, a driver loaded again); if it is known
/// that it did not, it is garbage.
fn growth(before: u64, now: u64, restarted: Option<bool>) -> u64 {
    match restarted {
        Some(true) => now,
        Some(false) => now.saturating_sub(before),
        None => now.checked_sub(before).unwrap_or(now),
    }
}
