//! How a source's thread waits: in `poll(2)`, for its descriptor, for the stop signal, or for its time; and how it
//! reports its state once and tries again ever more slowly.

use std::{os::fd::BorrowedFd, time::Duration};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nodewell_time::Backoff;

use super::{Sink, SourceState};
use crate::runtime::Stop;

/// However quiet its log is, a source comes back to its monitor so often: a thread that does not is stuck.
pub(crate) const SIGN_OF_LIFE: Duration = Duration::from_secs(60);
pub(crate) const LONGEST_PAUSE_SECS: u64 = 60;
/// Between two tries to read a source.
pub(crate) const PAUSES: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(LONGEST_PAUSE_SECS));

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Woken {
    Stopped,
    /// The descriptor has something, or a signal came: look again.
    Ready,
    TimedOut,
}

/// Waits for any of `fds`, for `stop`, or for `timeout` (for ever without one).
pub(crate) fn wait(stop: &Stop, fds: &[BorrowedFd<'_>], timeout: Option<Duration>) -> Woken {
    let mut polled = vec![PollFd::new(stop.fd(), PollFlags::POLLIN)];
    polled.extend(fds.iter().map(|fd| PollFd::new(*fd, PollFlags::POLLIN | PollFlags::POLLPRI)));
    let ready = poll(&mut polled, timeout.map_or(PollTimeout::NONE, rounded_up));
    if stop.is_set() {
        return Woken::Stopped;
    }
    if ready == Ok(0) { Woken::TimedOut } else { Woken::Ready }
}

/// Milliseconds, never 0 for a time that is not: a wait that rounds down spins.
fn rounded_up(timeout: Duration) -> PollTimeout {
    let millis = timeout.as_nanos().div_ceil(1_000_000);
    PollTimeout::try_from(i32::try_from(millis).unwrap_or(i32::MAX)).unwrap_or(PollTimeout::MAX)
}

/// Reports a state only when it is another one.
#[derive(Debug, Default)]
pub(crate) struct StateReporter(Option<SourceState>);

impl StateReporter {
    pub(crate) fn report(&mut self, state: SourceState, sink: &mut dyn Sink) {
        if self.0.as_ref() != Some(&state) {
            sink.state(state.clone());
            self.0 = Some(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_minute_and_start_over() {
        let mut backoff = PAUSES;
        let secs: Vec<u64> = (0..8).map(|_| backoff.pause().as_secs()).collect();
        assert_eq!(secs, [1, 2, 4, 8, 16, 32, 60, 60]);
        backoff.reset();
        assert_eq!(backoff.pause().as_secs(), 1);
    }

    #[test]
    fn a_wait_ends_with_its_time_or_with_stop() {
        let stop = Stop::new().unwrap();
        assert_eq!(wait(&stop, &[], Some(Duration::from_micros(1))), Woken::TimedOut);
        stop.set();
        assert_eq!(wait(&stop, &[], None), Woken::Stopped);
    }
}
