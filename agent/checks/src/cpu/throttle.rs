//! Whether a package is too hot for long: grows with its counters, and ends when they have been still for long enough.

use std::time::Duration;

use super::reading::ThrottleReading;

/// A moment of throttling is what a CPU is built for; minutes of it slow down what runs there.
pub(super) const HOT_FOR: Duration = Duration::from_secs(3 * 60);
/// The kernel itself waits 5 min between two warnings (drivers/thermal/intel/therm_throt.c CHECK_INTERVAL).
pub(super) const CALM_FOR: Duration = Duration::from_secs(10 * 60);
/// Throttled for a twentieth of the time is hot, however few the events.
const HOT_SHARE: u64 = 20;

/// One package.
#[derive(Debug, Clone, Default)]
pub(super) struct Throttle {
    last: Option<(Duration, ThrottleReading)>,
    hot: Duration,
    /// `None` before the first event of this boot.
    calm: Option<Duration>,
    pub(super) is_throttled: bool,
}

impl Throttle {
    /// It was throttled at the last report.
    pub(super) fn remembered() -> Self {
        Self { is_throttled: true, calm: Some(Duration::ZERO), ..Self::default() }
    }

    /// Adds what was counted up to `at`, by the clock since boot.
    pub(super) fn take(&mut self, at: Duration, reading: &ThrottleReading) {
        let before = self.last.replace((at, reading.clone()));
        let Some((then, before)) = before else { return };
        let elapsed = at.saturating_sub(then);
        if elapsed.is_zero() {
            return;
        }
        // A counter that goes back is that of fewer CPUs: some were taken offline.
        let events = reading.events.saturating_sub(before.events);
        let millis = reading.millis.zip(before.millis).map(|(now, before)| now.saturating_sub(before));
        match (events, millis) {
            (0, None | Some(0)) => self.cool_down(elapsed),
            _ => self.heat_up(is_hot(events, millis, elapsed), elapsed),
        }
    }

    fn heat_up(&mut self, is_hot: bool, elapsed: Duration) {
        self.calm = Some(Duration::ZERO);
        if is_hot {
            self.hot += elapsed;
        }
        self.is_throttled |= self.hot >= HOT_FOR;
    }

    fn cool_down(&mut self, elapsed: Duration) {
        let Some(calm) = &mut self.calm else { return };
        *calm += elapsed;
        if *calm >= HOT_FOR {
            self.hot = Duration::ZERO;
        }
        self.is_throttled &= *calm < CALM_FOR;
    }

    /// For how long nothing was counted after something was.
    pub(super) fn calm(&self) -> Option<Duration> {
        self.calm
    }

    pub(super) fn cpus(&self) -> u32 {
        self.last.as_ref().map_or(0, |(_, reading)| reading.cpus)
    }
}

/// A large enough part of the time; where the kernel does not count that (before 5.6), once a minute.
fn is_hot(events: u64, millis: Option<u64>, elapsed: Duration) -> bool {
    match millis {
        Some(millis) => u128::from(millis) * u128::from(HOT_SHARE) >= elapsed.as_millis(),
        None => events.saturating_mul(60) >= elapsed.as_secs().max(1),
    }
}
