//! How long to wait after a failed request; pure, time is an argument.

use std::time::Duration;

use super::answer::Failure;

/// The waits after failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryTiming {
    /// After the first failure; doubled with each further one.
    pub first: Duration,
    /// The longest wait while nothing waits for delivery.
    pub most: Duration,
    /// The longest wait while something does: recovery must not take longer than this after the server's return.
    pub most_urgent: Duration,
    /// A missing right needs a person.
    pub forbidden: Duration,
    /// The Node object is made by the kubelet, sooner or later.
    pub missing: Duration,
    /// Longer than this no `Retry-After` is believed.
    pub most_retry_after: Duration,
}

impl Default for RetryTiming {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(1),
            most: Duration::from_secs(30),
            most_urgent: Duration::from_secs(2),
            forbidden: Duration::from_secs(60),
            missing: Duration::from_secs(20),
            most_retry_after: Duration::from_secs(300),
        }
    }
}

/// The state of one lane's retries.
#[derive(Debug, Clone)]
pub(super) struct Retry {
    timing: RetryTiming,
    failed: Option<Failed>,
}

#[derive(Debug, Clone)]
struct Failed {
    at: Duration,
    attempts: u32,
    kind: Kind,
    /// 0..1, drawn at the failure.
    luck: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// The server may be back at any moment: urgent content shortens the wait.
    Outage,
    /// The server asked for patience, or will not like the next try better.
    Patience,
    Fixed(Duration),
}

impl Retry {
    pub(super) fn new(timing: RetryTiming) -> Self {
        Self { timing, failed: None }
    }

    pub(super) fn succeeded(&mut self) {
        self.failed = None;
    }

    /// `luck` is a random number in 0..1: it spreads the nodes of a cluster.
    pub(super) fn failed(&mut self, failure: &Failure, now: Duration, luck: f64) {
        let attempts = self.failed.as_ref().map_or(0, |failed| failed.attempts).saturating_add(1);
        self.failed = Some(Failed { at: now, attempts, kind: self.kind(failure), luck });
    }

    /// When to try again; `None` if nothing failed.
    pub(super) fn due(&self, urgent: bool) -> Option<Duration> {
        let failed = self.failed.as_ref()?;
        Some(failed.at + self.wait(failed, urgent))
    }

    fn kind(&self, failure: &Failure) -> Kind {
        match failure {
            Failure::Forbidden(_) => Kind::Fixed(self.timing.forbidden),
            Failure::Missing(_) => Kind::Fixed(self.timing.missing),
            Failure::Busy { after: Some(after), .. } => Kind::Fixed((*after).min(self.timing.most_retry_after)),
            Failure::Busy { after: None, .. } | Failure::Refused { .. } => Kind::Patience,
            _ => Kind::Outage,
        }
    }

    fn wait(&self, failed: &Failed, urgent: bool) -> Duration {
        let doubled = self.timing.first.saturating_mul(1 << failed.attempts.saturating_sub(1).min(16));
        let (wait, luck) = match failed.kind {
            // Never earlier than the server asked for.
            Kind::Fixed(wait) => return wait.mul_f64(1.0 + 0.1 * failed.luck),
            Kind::Outage if urgent => (doubled.min(self.timing.most_urgent), failed.luck),
            Kind::Outage | Kind::Patience => (doubled.min(self.timing.most), failed.luck),
        };
        // Half the wait is fixed, half is luck: after an outage the nodes do not come back as one.
        wait.mul_f64(0.5 + 0.5 * luck)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    fn waits(failure: &Failure, urgent: bool, tries: u32) -> Vec<u64> {
        let mut retry = Retry::new(RetryTiming::default());
        let wait = |retry: &mut Retry| {
            retry.failed(failure, secs(100), 1.0);
            (retry.due(urgent).unwrap() - secs(100)).as_secs()
        };
        (0..tries).map(|_| wait(&mut retry)).collect()
    }

    #[test]
    fn an_outage_doubles_up_to_the_limit_and_urgent_content_shortens_it() {
        let down = Failure::Unreachable("refused".into());
        assert_eq!(waits(&down, false, 7), [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(waits(&down, true, 4), [1, 2, 2, 2]);
    }

    #[test]
    fn a_retry_after_is_never_cut_short() {
        for luck in [0.0, 0.5, 1.0] {
            let mut retry = Retry::new(RetryTiming::default());
            let busy = Failure::Busy { code: 429, after: Some(secs(7)), message: String::new() };
            retry.failed(&busy, secs(1), luck);
            assert!(retry.due(true).unwrap() >= secs(8));
        }
        let for_ever = Failure::Busy { code: 429, after: Some(secs(1_000_000)), message: String::new() };
        assert!(waits(&for_ever, true, 1)[0] <= 330);
    }

    #[test]
    fn a_missing_right_waits_long_and_a_missing_node_less() {
        assert_eq!(waits(&Failure::Forbidden(String::new()), true, 2), [66, 66]);
        assert_eq!(waits(&Failure::Missing(String::new()), true, 2), [22, 22]);
    }

    #[test]
    fn a_success_starts_over() {
        let mut retry = Retry::new(RetryTiming::default());
        retry.failed(&Failure::Unreachable(String::new()), secs(1), 0.0);
        retry.succeeded();
        assert_eq!(retry.due(true), None);
    }
}
