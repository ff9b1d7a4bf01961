//! When what comes again and again is done: at moments that all of it shares which comes as often, in every process of the
//! agent. A machine that has nothing else to do is woken once for all of that.

use std::{io, os::fd::OwnedFd, sync::LazyLock, time::Duration};

use nix::sys::{
    time::TimeSpec,
    timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags},
};
use nodewell_model::problem::stable_hash;
use tokio::{task::yield_now, time::Instant};

use super::{clock, readable::readable};

/// By up to so much the moments of two nodes differ: those that were started together shall not ask together.
const PHASES: Duration = Duration::from_hours(1);

/// A moment of this process, and where it is among those of the machine.
static KNOWN: LazyLock<(Instant, Duration)> = LazyLock::new(|| (Instant::now(), clock::monotonic() + phase()));

/// The same in all processes of one boot.
fn phase() -> Duration {
    let boot = clock::boot_id().map(|id| *id.as_bytes()).unwrap_or_default();
    Duration::from_secs(stable_hash(&[boot]) % PHASES.as_secs())
}

/// The first moment after `before` of what is done every `interval`.
#[must_use]
pub fn next(before: Instant, interval: Duration) -> Instant {
    let (known, age) = *KNOWN;
    let age = (age + before.saturating_duration_since(known)).saturating_sub(known.saturating_duration_since(before));
    before + left(age, interval)
}

/// When what was done at `before` is done again, `interval` later or sooner: at the next moment of all that is done so
/// often. Where that would come too soon, on half of the way to the one after it.
#[must_use]
pub fn due(before: Instant, interval: Duration) -> Instant {
    before + paced(next(before, interval) - before, interval)
}

/// From `age` on, until it is a multiple of `interval`.
fn left(age: Duration, interval: Duration) -> Duration {
    let past = age.as_nanos().checked_rem(interval.as_nanos()).unwrap_or_default();
    interval.saturating_sub(Duration::from_nanos(u64::try_from(past).unwrap_or_default()))
}

/// `left`: until the next moment.
fn paced(left: Duration, interval: Duration) -> Duration {
    if left >= interval / 2 { left } else { (left + interval) / 2 }
}

/// Sleeps until `at` by a timer of the kernel's. One of tokio's wakes an idle process up to three times where it is seconds
/// away: its wheel has slots of four seconds, of 64 milliseconds and of one, and a timer is moved from each to the next.
pub async fn sleep_until(at: Instant) {
    // Tests have a clock of their own.
    if cfg!(test) || by_kernel(at.saturating_duration_since(Instant::now())).await.is_err() {
        tokio::time::sleep_until(at).await;
    }
}

async fn by_kernel(pause: Duration) -> io::Result<()> {
    // A timer of nothing would never end. A loop that is late each time would let no other task of its thread run.
    if pause.is_zero() {
        yield_now().await;
        return Ok(());
    }
    let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
    timer.set(Expiration::OneShot(TimeSpec::from(pause)), TimerSetTimeFlags::empty())?;
    let over = readable(OwnedFd::from(timer))?;
    over.readable().await?.retain_ready();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    #[test]
    fn a_moment_is_a_multiple_of_its_interval() {
        for (age, expected) in [(0, 60), (1, 59), (59, 1), (60, 60), (86_437, 23)] {
            assert_eq!(left(secs(age), MINUTE), secs(expected), "{age}");
        }
        assert_eq!(left(secs(59) + Duration::from_nanos(1), MINUTE), Duration::from_nanos(999_999_999));
        assert_eq!(left(secs(7), Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn what_is_done_as_often_shares_its_moments() {
        let now = Instant::now();
        let moment = next(now, MINUTE);
        assert!(moment > now && moment <= now + MINUTE);
        for later in [Duration::ZERO, secs(17), secs(60), secs(600)] {
            let others = next(now + later, MINUTE);
            assert_eq!((others - moment).as_nanos() % MINUTE.as_nanos(), 0, "{later:?}");
            assert_eq!(next(others, MINUTE), others + MINUTE, "not the one that is there");
        }
        let quarter = next(now, secs(15));
        assert_eq!((moment - quarter).as_nanos() % secs(15).as_nanos(), 0, "a minute is four of them");
    }

    /// It is never late, and after two rounds at the latest it is where the others are.
    #[test]
    fn what_begins_between_two_moments_comes_to_them_without_haste() {
        let pause = |at: Duration| paced(left(at, MINUTE), MINUTE);
        for begun in (0..60).map(secs) {
            let (first, usual) = (pause(begun), secs(30)..=MINUTE);
            let second = pause(begun + first);
            assert!(usual.contains(&first) && usual.contains(&second), "{begun:?}: {first:?}, {second:?}");
            assert_eq!((begun + first + second).as_nanos() % MINUTE.as_nanos(), 0, "{begun:?}");
        }
    }

    #[tokio::test]
    async fn what_is_always_late_lets_others_run() {
        let other = tokio::spawn(async {});
        for _ in 0..100 {
            by_kernel(Duration::ZERO).await.unwrap();
        }
        assert!(other.is_finished());
    }

    #[tokio::test]
    async fn the_kernels_timer_ends_when_it_should() {
        let began = std::time::Instant::now();
        by_kernel(Duration::ZERO).await.unwrap();
        by_kernel(Duration::from_millis(30)).await.unwrap();
        assert!(began.elapsed() >= Duration::from_millis(30));
        let never = by_kernel(Duration::from_hours(1));
        assert!(tokio::time::timeout(Duration::from_millis(10), never).await.is_err(), "it can be given up");
    }
}
