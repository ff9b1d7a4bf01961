//! When a runner looks after its worker between two rounds. Each wake costs an idle machine as much as a small read
//! does, so it looks as seldom as it may, and all runners of a process at the same moments.

use std::{sync::LazyLock, time::Duration};

use tokio::time::Instant;

/// While something is to be noticed soon: that devices are taken back, or that a stuck worker is gone.
const SOON: Duration = Duration::from_secs(2);
/// While it holds devices that a person can ask for, who waits for a worker that is busy as well.
const OFTEN: Duration = Duration::from_secs(5);
/// While it holds no device that could be asked for: what is left is a driver that comes.
const SELDOM: Duration = Duration::from_secs(10);

/// What may have to be noticed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watched {
    /// Its devices are released.
    pub(super) is_released: bool,
    pub(super) has_stuck: bool,
    /// A worker that may hold devices which a person can ask for.
    pub(super) has_releasable: bool,
}

impl Watched {
    fn every(self) -> Duration {
        match self {
            Self { is_released: true, .. } | Self { has_stuck: true, .. } => SOON,
            Self { has_releasable: true, .. } => OFTEN,
            _ => SELDOM,
        }
    }

    /// How long until the next look.
    pub(super) fn pause(self, now: Instant) -> Duration {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        until_multiple(now.saturating_duration_since(*START), self.every())
    }
}

/// From `age` on until it is a multiple of `every`, or a part of a millisecond more: a worker waits whole ones, and must
/// not come too early.
fn until_multiple(age: Duration, every: Duration) -> Duration {
    let rest = age.as_millis() % every.as_millis();
    every.saturating_sub(Duration::from_millis(u64::try_from(rest).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_at_multiples_of_their_pace() {
        for (age, pause) in [(0, 10_000), (1, 9_999), (9_999, 1), (10_000, 10_000), (86_412_345, 7_655)] {
            let pause = Duration::from_millis(pause);
            assert_eq!(until_multiple(Duration::from_millis(age), SELDOM), pause, "{age}");
            assert_eq!(until_multiple(Duration::from_micros(age * 1000 + 999), SELDOM), pause, "{age}");
        }
    }

    #[test]
    fn it_looks_often_where_there_is_something_to_notice() {
        let idle = Watched { is_released: false, has_stuck: false, has_releasable: false };
        assert_eq!(idle.every(), SELDOM);
        assert_eq!(Watched { has_releasable: true, ..idle }.every(), OFTEN);
        assert_eq!(Watched { is_released: true, ..idle }.every(), SOON);
        assert_eq!(Watched { has_stuck: true, has_releasable: true, ..idle }.every(), SOON);
    }
}
