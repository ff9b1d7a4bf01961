//! What several readings show together: streaks, slowdowns over a window, corrected errors by the hour.

use std::{collections::VecDeque, time::Duration};

/// How often in a row something was so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Streak(u32);

impl Streak {
    pub(super) fn count(&mut self, is_so: bool) {
        self.0 = if is_so { self.0.saturating_add(1) } else { 0 };
    }

    /// Twice in a row: one reading may fall into a change that is under way.
    pub(super) fn is_sure(self) -> bool {
        self.0 >= 2
    }

    pub(super) fn clear(&mut self) {
        self.0 = 0;
    }
}

/// Slowdowns are judged over ten minutes, as GPUd does: a brake of a second at the start of a job is ordinary.
const SLOWDOWN_WINDOW: Duration = Duration::from_secs(600);
/// Before that much is seen nothing is reported.
const SLOWDOWN_LEAST: Duration = Duration::from_secs(120);
/// Readings are some 30 s apart. Those of a shorter interval are thinned to so many in a window.
const MOST_SAMPLES: u32 = 128;

/// One kind of slowdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SlowdownKind {
    /// `nvmlClocksEventReasonHwThermalSlowdown`
    Thermal,
    /// `nvmlClocksEventReasonHwPowerBrakeSlowdown`
    Power,
    /// `nvmlClocksEventReasonHwSlowdown` without one of those two: power draw above what the board bears.
    Other,
}

impl SlowdownKind {
    pub(super) const ALL: [Self; 3] = [Self::Thermal, Self::Power, Self::Other];

    fn is_in(self, bits: u64) -> bool {
        let (slowdown, thermal, power) = (bits & 0x8 != 0, bits & 0x40 != 0, bits & 0x80 != 0);
        match self {
            Self::Thermal => thermal,
            Self::Power => power,
            Self::Other => slowdown && !thermal && !power,
        }
    }
}

/// Slowdowns of the last minutes.
#[derive(Debug, Default)]
pub(super) struct Slowdown {
    samples: VecDeque<(Duration, u64)>,
    /// Those that were reported last, by [`SlowdownKind::ALL`].
    reported: [bool; 3],
}

impl Slowdown {
    pub(super) fn take(&mut self, at: Duration, bits: Option<u64>) {
        let Some(bits) = bits else { return };
        push(&mut self.samples, SLOWDOWN_WINDOW, at, bits);
        self.reported = SlowdownKind::ALL.map(|kind| self.is_on(kind, self.reported[kind as usize]));
    }

    pub(super) fn slowdowns(&self) -> impl Iterator<Item = SlowdownKind> + '_ {
        SlowdownKind::ALL.into_iter().filter(|kind| self.reported[*kind as usize])
    }

    /// On from half of the readings, off below a tenth: it does not flap in between.
    fn is_on(&self, kind: SlowdownKind, was_on: bool) -> bool {
        let with = self.samples.iter().filter(|(_, bits)| kind.is_in(*bits)).count();
        if was_on { with * 10 >= self.samples.len() } else { self.has_enough() && with * 2 >= self.samples.len() }
    }

    fn has_enough(&self) -> bool {
        let (Some((first, _)), Some((last, _))) = (self.samples.front(), self.samples.back()) else { return false };
        self.samples.len() >= 4 && last.saturating_sub(*first) >= SLOWDOWN_LEAST
    }
}

const HOUR: Duration = Duration::from_secs(3600);

/// Memory of a data centre's GPU corrects a few bits a day. A hundred within an hour are one failing place that is hit
/// again and again; the rows are replaced at the driver's own, higher limits.
pub(super) type Corrected = HourlyGrowth<100>;
/// For a counter that a reset does not clear.
pub(super) type Uncorrected = HourlyGrowth<1>;

/// Whether a counter grew by `LIMIT` within an hour; it stays so until it grew by less than a tenth of that.
#[derive(Debug, Default)]
pub(super) struct HourlyGrowth<const LIMIT: u64> {
    samples: VecDeque<(Duration, u64)>,
    is_high: bool,
}

impl<const LIMIT: u64> HourlyGrowth<LIMIT> {
    /// From so many on within an hour.
    pub(super) const LIMIT: u64 = LIMIT;

    pub(super) fn take(&mut self, at: Duration, count: Option<u64>) {
        let Some(count) = count else { return };
        if self.samples.back().is_some_and(|(_, last)| count < *last) {
            // Reset: what came before proves nothing about what comes.
            self.samples.clear();
        }
        push(&mut self.samples, HOUR, at, count);
        let limit = if self.is_high { (LIMIT / 10).max(1) } else { LIMIT };
        self.is_high = self.within_hour() >= limit;
    }

    pub(super) fn is_high(&self) -> bool {
        self.is_high
    }

    fn within_hour(&self) -> u64 {
        let (Some((_, first)), Some((_, last))) = (self.samples.front(), self.samples.back()) else { return 0 };
        last.saturating_sub(*first)
    }
}

/// Appends a sample, and drops what lies before the window but for the newest of it, from which growth counts.
fn push(samples: &mut VecDeque<(Duration, u64)>, window: Duration, at: Duration, value: u64) {
    if samples.back().is_some_and(|(last, _)| at < *last) {
        // Another boot's clock.
        samples.clear();
    }
    thin(samples, window / MOST_SAMPLES);
    samples.push_back((at, value));
    let begin = at.saturating_sub(window);
    while samples.get(1).is_some_and(|(second, _)| *second <= begin) {
        samples.pop_front();
    }
}

/// Drops the newest sample if it came within `step` of the one before it: the next stands for both.
fn thin(samples: &mut VecDeque<(Duration, u64)>, step: Duration) {
    let mut newest = samples.iter().rev().map(|(at, _)| *at);
    if newest.next().zip(newest.next()).is_some_and(|(last, before)| last.saturating_sub(before) < step) {
        samples.pop_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn slowdown(bits: impl IntoIterator<Item = u64>) -> Slowdown {
        let mut slowdown = Slowdown::default();
        for (place, bits) in (0..).zip(bits) {
            slowdown.take(30 * place * SECOND, Some(bits));
        }
        slowdown
    }

    #[test]
    fn a_short_brake_is_ordinary_and_a_long_one_is_reported() {
        assert_eq!(slowdown([0x48; 4]).slowdowns().count(), 0, "too early to say");
        assert_eq!(slowdown([0x48; 5]).slowdowns().collect::<Vec<_>>(), [SlowdownKind::Thermal]);
        assert_eq!(slowdown([0x88; 20]).slowdowns().collect::<Vec<_>>(), [SlowdownKind::Power]);
        assert_eq!(slowdown([0x8; 20]).slowdowns().collect::<Vec<_>>(), [SlowdownKind::Other]);
        // Idle, application clocks, software power cap, software thermal: the ordinary work of a governor.
        assert_eq!(slowdown([0x27; 20]).slowdowns().count(), 0);
        assert_eq!(slowdown([0, 0, 0x48, 0, 0, 0, 0, 0]).slowdowns().count(), 0);
    }

    #[test]
    fn it_ends_when_a_window_has_nearly_none() {
        let on_then_off = |off: usize| slowdown([0x48; 10].into_iter().chain(std::iter::repeat_n(0, off)));
        assert_eq!(on_then_off(12).slowdowns().count(), 1);
        assert_eq!(on_then_off(21).slowdowns().count(), 0);
    }

    #[test]
    fn corrected_errors_count_by_the_hour() {
        let mut corrected = Corrected::default();
        let mut take = |minute: u32, count| {
            corrected.take(60 * minute * SECOND, Some(count));
            corrected.is_high()
        };
        assert!(!take(0, 1_000_000), "an old count says nothing");
        assert!(!take(30, 1_000_099));
        assert!(take(59, 1_000_100));
        assert!(take(100, 1_000_120));
        assert!(!take(200, 1_000_121));
        assert!(!take(201, 3), "a counter that went back");
        assert!(take(202, 103));
    }

    #[test]
    fn a_short_interval_shortens_no_window() {
        let mut corrected = Corrected::default();
        // Every two seconds, one error each half minute: 120 within an hour.
        for place in 0..1800_u32 {
            corrected.take(2 * place * SECOND, Some(u64::from(place / 15)));
            assert!(corrected.samples.len() <= 131);
        }
        assert!(corrected.is_high());
    }

    #[test]
    fn a_clock_that_goes_back_begins_again() {
        let mut corrected = Corrected::default();
        corrected.take(100 * SECOND, Some(0));
        corrected.take(10 * SECOND, Some(u64::MAX));
        assert!(!corrected.is_high());
    }
}
