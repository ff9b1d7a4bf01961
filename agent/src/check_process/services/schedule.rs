//! Which service is looked at next, and when: at the moments of all that is looked at as often ([`pace`]).

use std::{future, time::Duration};

use nodewell_client::random;
use tokio::time::Instant;

use crate::runtime::pace;

/// The first looks come within this, not all at once.
const FIRST_WITHIN: Duration = Duration::from_secs(1);

/// When each is due; `None` while it is being looked at.
pub(super) struct Schedule {
    due: Vec<Option<Instant>>,
}

impl Schedule {
    /// All are due soon.
    pub(super) fn new(count: usize) -> Self {
        let now = Instant::now();
        Self { due: (0..count).map(|_| Some(now + part_of(FIRST_WITHIN))).collect() }
    }

    /// Those that are due; they are being looked at from now on.
    pub(super) fn due(&mut self, now: Instant) -> Vec<usize> {
        let due = |(n, at): (usize, &mut Option<Instant>)| at.take_if(|at| *at <= now).map(|_| n);
        self.due.iter_mut().enumerate().filter_map(due).collect()
    }

    /// The look at the `n`th has ended.
    pub(super) fn plan(&mut self, n: usize, pause: Duration) {
        self.due[n] = Some(pace::due(Instant::now(), pause));
    }

    /// Until one is due.
    pub(super) async fn wait(&self) {
        match self.due.iter().flatten().min() {
            Some(at) => pace::sleep_until(*at).await,
            None => future::pending().await,
        }
    }
}

fn part_of(whole: Duration) -> Duration {
    let millis = u64::try_from(whole.as_millis()).unwrap_or_default();
    Duration::from_millis(random() % (millis + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_that_is_being_looked_at_is_not_due_and_the_others_are() {
        let mut schedule = Schedule::new(2);
        tokio::time::sleep(FIRST_WITHIN).await;
        assert_eq!(schedule.due(Instant::now()), [0, 1]);
        assert!(schedule.due(Instant::now()).is_empty());
        schedule.plan(1, Duration::from_secs(20));
        let began = Instant::now();
        schedule.wait().await;
        let waited = began.elapsed();
        assert!((10..=20).contains(&waited.as_secs()), "{waited:?}");
        assert_eq!(schedule.due(Instant::now()), [1]);
    }
}
