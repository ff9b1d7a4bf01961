//! When a runner looks after its worker between two rounds. Each wake costs an idle machine as much as a small read
//! does, so it looks as seldom as it may, and at the moments that all processes share ([`pace`]).
//!
//! [`pace`]: crate::runtime::pace

use std::time::Duration;

/// While something is to be noticed soon: that devices are taken back, or that a stuck worker is gone.
const SOON: Duration = Duration::from_secs(2);
/// While it holds devices that a person can ask for, who waits for a worker that is busy as well.
const OFTEN: Duration = Duration::from_secs(5);
/// While it holds no device that could be asked for: what is left is a driver that comes, or what a person accepts.
const SELDOM: Duration = Duration::from_secs(10);
/// While the kernel reports what people want, and nothing else can be noticed.
const RARELY: Duration = Duration::from_mins(1);

/// What may have to be noticed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watched {
    /// Its devices are released.
    pub(super) is_released: bool,
    pub(super) has_stuck: bool,
    /// A worker that may hold devices which a person can ask for.
    pub(super) has_releasable: bool,
    /// A driver may come or go.
    pub(super) has_drivers: bool,
    /// What people want wakes it.
    pub(super) is_told: bool,
}

impl Watched {
    /// How often to look.
    pub(super) fn every(self) -> Duration {
        match self {
            Self { is_released: true, .. } | Self { has_stuck: true, .. } => SOON,
            Self { has_releasable: true, is_told: false, .. } => OFTEN,
            Self { is_told: true, has_drivers: false, .. } => RARELY,
            _ => SELDOM,
        }
    }
}

/// `pause`, or a part of a millisecond more: a worker waits whole ones, and must not come too early.
pub(super) fn whole_millis(pause: Duration) -> Duration {
    let millis = pause.as_nanos().div_ceil(1_000_000);
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_waits_no_less_than_it_should() {
        for (micros, millis) in [(0, 0), (1, 1), (999, 1), (1_000, 1), (1_001, 2), (9_999_001, 10_000)] {
            assert_eq!(whole_millis(Duration::from_micros(micros)), Duration::from_millis(millis), "{micros}");
        }
    }

    #[test]
    fn it_looks_often_where_there_is_something_to_notice() {
        let idle =
            Watched { is_released: false, has_stuck: false, has_releasable: false, has_drivers: false, is_told: true };
        assert_eq!(idle.every(), RARELY);
        assert_eq!(Watched { has_releasable: true, ..idle }.every(), RARELY);
        assert_eq!(Watched { has_drivers: true, ..idle }.every(), SELDOM);
        let looks = Watched { is_told: false, ..idle };
        assert_eq!(looks.every(), SELDOM);
        assert_eq!(Watched { has_releasable: true, ..looks }.every(), OFTEN);
        for watched in [idle, looks] {
            assert_eq!(Watched { is_released: true, ..watched }.every(), SOON);
            assert_eq!(Watched { has_stuck: true, has_releasable: true, ..watched }.every(), SOON);
        }
    }
}
