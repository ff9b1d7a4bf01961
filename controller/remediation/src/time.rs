//! Two clocks, never mixed: durations and deadlines use what the controller itself has seen pass, the wall clock is for
//! people and for the API.

use std::time::Duration;

use jiff::Timestamp;

/// An instant of the controller's own clock (`CLOCK_BOOTTIME`), counted from any fixed point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(pub Duration);

impl Moment {
    /// How long ago `earlier` was; nothing if it is yet to come.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span))
    }
}

/// The present, by both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    pub moment: Moment,
    pub wall: Timestamp,
}

impl Now {
    /// `moment`, which is yet to come, by the wall clock, to the second; nothing past the end of its calendar.
    #[must_use]
    pub fn at(self, moment: Moment) -> Option<Timestamp> {
        let at = self.wall.checked_add(moment.since(self.moment)).ok()?;
        Timestamp::from_second(at.as_second()).ok()
    }
}
