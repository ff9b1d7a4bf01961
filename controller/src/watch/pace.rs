//! When a watch that ended is opened again: one that a proxy ends at once must not be asked for thousands of times a second.

use std::time::Duration;

/// API servers keep a watch for minutes.
const SHORT: Duration = Duration::from_secs(1);
/// After the first short one; doubled with each.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// As many short ones in a row are no watch.
const SHORT_ONES: u32 = 3;

/// How many short watches there were, one after the other.
#[derive(Debug, Default)]
pub(super) struct Pace(u32);

impl Pace {
    /// How long to wait before the next one, after one that lived so long. Nothing if this is no watch: whoever thinks that
    /// it hears by it is deaf.
    pub(super) fn ended(&mut self, lived: Duration) -> Option<Duration> {
        if !is_short(lived) {
            self.0 = 0;
            return Some(Duration::ZERO);
        }
        self.0 += 1;
        (self.0 < SHORT_ONES).then(|| FIRST_PAUSE * 2_u32.pow(self.0 - 1))
    }
}

pub(super) fn is_short(lived: Duration) -> bool {
    lived < SHORT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_watches_are_slowed_down_and_then_none_at_all() {
        let (short, long) = (Duration::from_millis(3), Duration::from_secs(290));
        let mut pace = Pace::default();
        let millis = |pause: Option<Duration>| pause.map(|pause| pause.as_millis());
        assert_eq!(millis(pace.ended(short)), Some(500));
        assert_eq!(millis(pace.ended(short)), Some(1000));
        assert_eq!(millis(pace.ended(long)), Some(0));
        let pauses: Vec<_> = (0..3).map(|_| millis(pace.ended(short))).collect();
        assert_eq!(pauses, [Some(500), Some(1000), None]);
    }
}
