//! When a pod's fault was last reported: once, daily while it goes on, and again after calm.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A fault that goes on for days is reported daily.
const AGAIN: Duration = Duration::from_secs(24 * 3600);

/// What a figure shows against two levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Height {
    High,
    /// Nothing begins here, and nothing ends.
    Between,
    Low,
}

/// Seconds since boot; `None` while nothing was reported since it was last low.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Reported(Option<u64>);

impl Reported {
    pub(super) fn is_never(&self) -> bool {
        self.0.is_none()
    }

    /// Whether the fault is to be reported now; then it counts as reported.
    pub(super) fn is_due(&mut self, height: Height, now: Duration) -> bool {
        if height == Height::Low {
            self.0 = None;
        }
        let is_old = |reported: u64| now.as_secs().saturating_sub(reported) >= AGAIN.as_secs();
        let is_due = height == Height::High && self.0.is_none_or(is_old);
        if is_due {
            self.0 = Some(now.as_secs());
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_reported_once_daily_and_again_after_calm() {
        use Height::{Between, High, Low};
        let mut reported = Reported::default();
        let hours = [(0, Between), (1, High), (2, High), (3, Between), (4, High), (26, High), (27, Low), (28, High)];
        let due = hours.map(|(hour, height)| reported.is_due(height, Duration::from_secs(hour * 3600)));
        assert_eq!(due, [false, true, false, false, false, true, false, true]);
    }
}
