//! How often each principal may report: a token bucket for each, stored only while it is not full. Pure, time is an
//! argument.

use std::{collections::HashMap, sync::Arc, time::Duration};

use crate::bucket::{Bucket, Rate};

/// Principals with a bucket of their own. Units and users that report at the same time are a handful; containers,
/// which may not report at all, could be many, and share one bucket beyond this.
const PRINCIPALS_LIMIT: usize = 1024;
const OTHERS: &str = "others";

#[derive(Debug, Default)]
pub(super) struct Rates {
    buckets: HashMap<Arc<str>, Bucket>,
}

impl Rates {
    /// Takes one token of `principal`; if there is none, how long until there is.
    pub(super) fn take(&mut self, principal: &Arc<str>, rate: Rate, now: Duration) -> Result<(), Duration> {
        let bucket = self.bucket(principal, now);
        let ready = bucket.ready(rate);
        if ready > now {
            return Err(ready - now);
        }
        bucket.take(rate, now);
        Ok(())
    }

    /// Takes `count` tokens of `principal`, whether they are there or not: what is missing is waited for later.
    pub(super) fn owe(&mut self, principal: &Arc<str>, count: usize, rate: Rate, now: Duration) {
        let bucket = self.bucket(principal, now);
        (0..count).for_each(|_| bucket.take(rate, now));
    }

    fn bucket(&mut self, principal: &Arc<str>, now: Duration) -> &mut Bucket {
        if self.buckets.len() >= PRINCIPALS_LIMIT && !self.buckets.contains_key(principal) {
            self.buckets.retain(|_, bucket| !bucket.is_full(now));
        }
        let full = self.buckets.len() >= PRINCIPALS_LIMIT && !self.buckets.contains_key(principal);
        let key = if full { OTHERS.into() } else { Arc::clone(principal) };
        self.buckets.entry(key).or_insert(Bucket::FULL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate { burst: 2, interval: Duration::from_millis(50) };
    const NOW: Duration = Duration::from_secs(1000);

    #[test]
    fn each_principal_has_its_own_burst() {
        let (mut rates, one, other) = (Rates::default(), "x.service".into(), "uid:1000".into());
        assert_eq!(rates.take(&one, RATE, NOW), Ok(()));
        assert_eq!(rates.take(&one, RATE, NOW), Ok(()));
        assert_eq!(rates.take(&one, RATE, NOW), Err(Duration::from_millis(50)));
        assert_eq!(rates.take(&other, RATE, NOW), Ok(()));
        // The wait that was reported is true.
        assert_eq!(rates.take(&one, RATE, NOW + Duration::from_millis(50)), Ok(()));
    }

    #[test]
    fn a_batch_is_paid_for_later() {
        let (mut rates, one) = (Rates::default(), "x.service".into());
        assert_eq!(rates.take(&one, RATE, NOW), Ok(()));
        rates.owe(&one, 20, RATE, NOW);
        assert_eq!(rates.take(&one, RATE, NOW), Err(Duration::from_millis(50 * 20)));
    }

    #[test]
    fn strangers_without_number_share_a_bucket_and_cost_no_known_client_its_own() {
        let mut rates = Rates::default();
        let principal = |n: usize| Arc::<str>::from(format!("container:{n}"));
        for n in 0..5 * PRINCIPALS_LIMIT {
            let _ = rates.take(&principal(n), RATE, NOW);
        }
        assert!(rates.buckets.len() <= PRINCIPALS_LIMIT + 1);
        assert_eq!(rates.take(&principal(0), RATE, NOW), Ok(()));
        assert!(rates.take(&principal(9999), RATE, NOW).is_err());
        // A full bucket need not be remembered.
        assert_eq!(rates.take(&principal(9999), RATE, NOW + Duration::from_secs(60)), Ok(()));
        assert!(rates.buckets.len() <= 2);
    }
}
