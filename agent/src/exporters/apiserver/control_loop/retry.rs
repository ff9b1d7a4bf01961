//! How long to wait after a failed request; pure, time is an argument.

use std::time::Duration;

use nodewell_time::{doubled, jittered};

use crate::exporters::apiserver::connection::RequestError;

/// How long to wait after failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// After the first failure; doubled with each further one.
    pub first: Duration,
    /// The longest wait while something waits for delivery: with the time of a try it is what recovery takes.
    pub most_urgent: Duration,
    /// An exporter that has nothing to deliver comes back once in so long, each node at a moment of its own.
    pub spread: Duration,
    /// The longest wait after an answer that the next try will not change by itself.
    pub most: Duration,
    /// The longest wait for a right: it needs a person, or a server that has just started.
    pub forbidden: Duration,
    /// The longest wait for the Node object: it is made by the kubelet, sooner or later.
    pub missing: Duration,
    /// Longer than this no `Retry-After` is believed.
    pub most_retry_after: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(1),
            most_urgent: Duration::from_millis(1500),
            spread: Duration::from_secs(60),
            most: Duration::from_secs(30),
            forbidden: Duration::from_secs(60),
            missing: Duration::from_secs(20),
            most_retry_after: Duration::from_secs(300),
        }
    }
}

/// The state of one loop's retries.
#[derive(Debug, Clone)]
pub(crate) struct Retry {
    timing: RetryPolicy,
    failed: Option<FailedAttempts>,
}

/// When one try began and ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt {
    pub(crate) started: Duration,
    pub(crate) ended: Duration,
}

#[derive(Debug, Clone)]
struct FailedAttempts {
    last: Attempt,
    attempts: u32,
    kind: RetryKind,
    /// Jitter, 0..1, chosen at the failure.
    jitter: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum RetryKind {
    /// The server may be back at any moment: urgent content shortens the wait.
    Outage,
    /// The server asked to wait.
    Asked(Duration),
    /// The same request will be refused again, at least for a while: the wait doubles up to this.
    BackOff(Duration),
}

impl Retry {
    pub(crate) fn new(timing: RetryPolicy) -> Self {
        Self { timing, failed: None }
    }

    pub(crate) fn succeeded(&mut self) {
        self.failed = None;
    }

    /// Plans the next try. An outage is counted from the start of the attempt, so that one which hung until its timeout
    /// is followed at once. `jitter` is a random number in 0..1: it spreads the nodes of a cluster.
    pub(crate) fn failed_since(&mut self, error: &RequestError, attempt: Attempt, jitter: f64) {
        let attempts = self.failed.as_ref().map_or(0, |failed| failed.attempts).saturating_add(1);
        self.failed = Some(FailedAttempts { last: attempt, attempts, kind: self.kind(error), jitter });
    }

    /// When to try again; `None` if nothing failed.
    pub(crate) fn due(&self, urgent: bool) -> Option<Duration> {
        let failed = self.failed.as_ref()?;
        Some(match failed.kind {
            RetryKind::Outage => failed.last.started + self.after_outage(failed, urgent),
            RetryKind::Asked(wait) => failed.last.ended + self.as_asked(wait, urgent, failed.jitter),
            RetryKind::BackOff(most) => failed.last.ended + self.pause(failed, most),
        })
    }

    fn kind(&self, error: &RequestError) -> RetryKind {
        match error {
            RequestError::Forbidden(_) => RetryKind::BackOff(self.timing.forbidden),
            RequestError::Missing(_) => RetryKind::BackOff(self.timing.missing),
            RequestError::Busy { after: Some(after), .. } => {
                RetryKind::Asked((*after).min(self.timing.most_retry_after))
            }
            // New credentials wake us anyway; with the old ones a whole cluster would only cost handshakes.
            RequestError::Busy { after: None, .. } | RequestError::Rejected { .. } | RequestError::Unauthorized(_) => {
                RetryKind::BackOff(self.timing.most)
            }
            _ => RetryKind::Outage,
        }
    }

    fn after_outage(&self, failed: &FailedAttempts, urgent: bool) -> Duration {
        if urgent {
            return self.pause(failed, self.timing.most_urgent);
        }
        // The first wait gives each node its own moment, and equal ones keep it: whenever the server comes back, the
        // nodes come evenly.
        let share = if failed.attempts == 1 { failed.jitter } else { 1.0 };
        self.timing.spread.mul_f64(share).max(self.timing.first.mul_f64(0.5))
    }

    /// Never earlier than asked for, and not all at the same moment.
    fn as_asked(&self, wait: Duration, urgent: bool, jitter: f64) -> Duration {
        let spread = if urgent { self.timing.first } else { self.timing.spread };
        wait + spread.mul_f64(jitter)
    }

    fn pause(&self, failed: &FailedAttempts, most: Duration) -> Duration {
        jittered(doubled(self.timing.first, failed.attempts.saturating_sub(1), most), failed.jitter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    fn waits(error: &RequestError, urgent: bool, jitter: f64) -> Vec<f64> {
        let mut retry = Retry::new(RetryPolicy::default());
        let wait = |retry: &mut Retry| {
            retry.failed_since(error, Attempt { started: secs(100), ended: secs(100) }, jitter);
            (retry.due(urgent).unwrap() - secs(100)).as_secs_f64()
        };
        (0..7).map(|_| wait(&mut retry)).collect()
    }

    #[test]
    fn urgent_content_is_tried_again_within_seconds_however_long_the_outage() {
        let down = RequestError::Unreachable("refused".into());
        assert_eq!(waits(&down, true, 1.0), [1.0, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5]);
        assert_eq!(waits(&down, true, 0.0)[6], 0.75);
    }

    #[test]
    fn a_try_that_waited_long_is_followed_at_once() {
        let mut retry = Retry::new(RetryPolicy::default());
        retry.failed_since(
            &RequestError::Unanswered(String::new()),
            Attempt { started: secs(100), ended: secs(110) },
            1.0,
        );
        assert!(retry.due(true).unwrap() <= secs(110));
        assert_eq!(retry.due(false), Some(secs(160)));
    }

    #[test]
    fn idle_nodes_come_back_evenly_over_the_spread_whenever_the_server_does() {
        let down = RequestError::Unreachable(String::new());
        let timing = RetryPolicy::default();
        for back in [secs(130), secs(161), secs(777)] {
            let mut per_ten_secs = [0_u32; 6];
            for node in 0..600 {
                let jitter = f64::from(node) / 600.0;
                let mut retry = Retry::new(timing);
                let mut now = secs(100);
                while now < back {
                    retry.failed_since(&down, Attempt { started: now, ended: now }, jitter);
                    now = retry.due(false).unwrap();
                }
                let late = now - back;
                assert!(late <= secs(60), "{late:?}");
                per_ten_secs[usize::try_from(late.as_secs() / 10).unwrap().min(5)] += 1;
            }
            // Those whose first wait was not over yet when the server came back are later by what is left of it.
            assert!(
                per_ten_secs.iter().all(|count| (85..=115).contains(count)) || back == secs(130),
                "{per_ten_secs:?}"
            );
        }
    }

    #[test]
    fn a_retry_after_is_never_cut_short() {
        for jitter in [0.0, 0.5, 1.0] {
            let mut retry = Retry::new(RetryPolicy::default());
            let busy = RequestError::Busy { code: 429, after: Some(secs(7)), message: String::new() };
            retry.failed_since(&busy, Attempt { started: secs(1), ended: secs(2) }, jitter);
            assert!(retry.due(true).unwrap() >= secs(9) && retry.due(true).unwrap() <= secs(10));
            assert!(retry.due(false).unwrap() <= secs(69));
        }
        let for_ever = RequestError::Busy { code: 429, after: Some(secs(1_000_000)), message: String::new() };
        assert!(waits(&for_ever, true, 1.0)[0] <= 301.0);
    }

    #[test]
    fn a_missing_right_is_soon_tried_again_and_then_rarely_and_a_missing_node_more_often() {
        assert_eq!(waits(&RequestError::Forbidden(String::new()), true, 1.0), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0]);
        assert_eq!(waits(&RequestError::Missing(String::new()), true, 1.0)[4..], [16.0, 20.0, 20.0]);
    }

    #[test]
    fn refused_credentials_are_not_hammered_with() {
        assert_eq!(waits(&RequestError::Unauthorized(String::new()), true, 1.0)[4..], [16.0, 30.0, 30.0]);
    }

    #[test]
    fn a_success_starts_over() {
        let mut retry = Retry::new(RetryPolicy::default());
        retry.failed_since(
            &RequestError::Unreachable(String::new()),
            Attempt { started: secs(1), ended: secs(1) },
            0.0,
        );
        retry.succeeded();
        assert_eq!(retry.due(true), None);
    }
}
