//! When a kernel record was written: the kernel's clock leaves suspend out and is not steered by NTP, so what is read
//! as it comes is stamped on reading, and only what was there before is counted back from now.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// Within this the kernel's clock is believed to the microsecond. It drifts by parts per million, hence by more than
/// this only after days.
const FRESH: SignedDuration = SignedDuration::from_secs(1);

/// How a record came to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It was there before we had read everything.
    Backlog,
    /// It ended a wait: just written.
    Woke,
    /// It followed one that did.
    Following,
}

/// The clocks at the moment of reading.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadTime {
    pub(crate) wall: Timestamp,
    pub(crate) monotonic: Duration,
    pub(crate) arrival: Arrival,
}

/// Remembers how far the kernel's clock is off.
#[derive(Debug, Default)]
pub(crate) struct Stamper {
    skew: SignedDuration,
}

impl Stamper {
    /// The wall time of a record that the kernel stamped `since_boot`; never after the reading.
    pub(crate) fn stamp(&mut self, read_at: ReadTime, since_boot: Duration) -> Timestamp {
        let measured = signed(read_at.monotonic).saturating_sub(signed(since_boot));
        if read_at.arrival == Arrival::Woke {
            self.skew = if measured.abs() < FRESH { SignedDuration::ZERO } else { measured };
        }
        let skew = if read_at.arrival == Arrival::Backlog { SignedDuration::ZERO } else { self.skew };
        let age = measured.saturating_sub(skew).max(SignedDuration::ZERO);
        read_at.wall.saturating_sub(age).unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

fn signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000;

    /// Ages in milliseconds of records stamped `since_boot_ms`, read 100 s after boot.
    fn ages(records: &[(Arrival, u64)]) -> Vec<i64> {
        let mut stamper = Stamper::default();
        let wall = Timestamp::from_second(NOW).unwrap();
        let reading = |arrival| ReadTime { wall, monotonic: Duration::from_secs(100), arrival };
        records
            .iter()
            .map(|(arrival, ms)| {
                wall.as_millisecond() - stamper.stamp(reading(*arrival), Duration::from_millis(*ms)).as_millisecond()
            })
            .collect()
    }

    #[test]
    fn backlog_is_counted_back_from_now() {
        assert_eq!(ages(&[(Arrival::Backlog, 0), (Arrival::Backlog, 40_000)]), [100_000, 60_000]);
    }

    #[test]
    fn a_live_record_is_stamped_on_reading() {
        assert_eq!(ages(&[(Arrival::Woke, 99_700)]), [300]);
        // The kernel's clock has drifted, or the machine slept: the record is as new as our wake-up.
        assert_eq!(
            ages(&[(Arrival::Woke, 70_000), (Arrival::Following, 70_000), (Arrival::Following, 69_500)]),
            [0, 0, 500]
        );
    }

    #[test]
    fn no_record_comes_from_the_future() {
        for arrival in [Arrival::Backlog, Arrival::Woke, Arrival::Following] {
            assert_eq!(ages(&[(arrival, 100_500), (arrival, 900_000), (arrival, u64::MAX / 1000)]), [0, 0, 0]);
        }
    }
}
