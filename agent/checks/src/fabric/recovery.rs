//! Detects when a port has come back and stayed: evidence that what the kernel log reported of its card is over.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::probe::Now;

/// A card that fails again does so at once.
pub(super) const STAYS_SECS: u64 = 60;

/// The way back of one port.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Recovery {
    was_away: bool,
    back: Option<Back>,
}

/// When it came back, by both clocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Back {
    time: Timestamp,
    secs: u64,
}

impl Recovery {
    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn is_away(&mut self) {
        *self = Self { was_away: true, back: None };
    }

    /// It is up: returns, once, since when it has been back for good.
    pub(crate) fn is_up(&mut self, now: &Now) -> Option<Timestamp> {
        if !self.was_away {
            return None;
        }
        let secs = now.boottime.as_secs();
        let back = self.back.get_or_insert(Back { time: now.wall, secs });
        if secs.saturating_sub(back.secs) < STAYS_SECS {
            return None;
        }
        let since = back.time;
        *self = Self::default();
        Some(since)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(secs: u64) -> Now {
        let wall = Timestamp::from_second(i64::try_from(secs).unwrap()).unwrap();
        Now { wall, boottime: Duration::from_secs(secs), boot_id: String::new() }
    }

    #[test]
    fn it_reports_once_since_when_a_port_has_been_back() {
        let mut recovery = Recovery::default();
        assert_eq!(recovery.is_up(&at(0)), None);
        recovery.is_away();
        let changes: Vec<_> =
            [100, 110, 159, 160, 170].map(|secs| recovery.is_up(&at(secs))).into_iter().flatten().collect();
        assert_eq!(changes, [at(100).wall]);
        assert!(recovery.is_nothing());
    }

    #[test]
    fn who_goes_again_begins_again() {
        let mut recovery = Recovery::default();
        recovery.is_away();
        assert_eq!(recovery.is_up(&at(100)), None);
        recovery.is_away();
        assert_eq!(recovery.is_up(&at(160)), None);
        assert_eq!(recovery.is_up(&at(220)), Some(at(160).wall));
    }
}
