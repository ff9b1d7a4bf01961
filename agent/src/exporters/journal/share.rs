//! How many lines a peer may write: journald limits a unit's lines, and keeps so many in all. A peer that floods would
//! push out those of the node.

use std::{collections::BTreeMap, time::Duration};

use crate::bucket::{Bucket, Rate};

/// A daemon whose forty disks fail at once is heard of each.
const RATE: Rate = Rate { burst: 100, interval: Duration::from_secs(1) };
/// As many peers are remembered; of more, only those that have not their whole share.
const PEERS: usize = 256;

/// What each peer has used of its share.
#[derive(Debug, Default)]
pub(super) struct Shares(BTreeMap<String, Share>);

#[derive(Debug)]
struct Share {
    bucket: Bucket,
    held_back: u64,
}

impl Shares {
    /// Whether an event of `peer` is written; else it is counted.
    pub(super) fn admits(&mut self, peer: &str, now: Duration) -> bool {
        if self.0.len() >= PEERS && !self.0.contains_key(peer) {
            self.0.retain(|_, share| share.held_back > 0 || !share.bucket.is_full(now));
        }
        let share = self.0.entry(peer.to_owned()).or_insert(Share { bucket: Bucket::FULL, held_back: 0 });
        // In turn: what was held back comes first.
        let is_free = share.held_back == 0 && share.bucket.ready(RATE) <= now;
        match is_free {
            true => share.bucket.take(RATE, now),
            false => share.held_back += 1,
        }
        is_free
    }

    /// Whether something was held back and not yet reported.
    pub(super) fn holds_back(&self) -> bool {
        self.0.values().any(|share| share.held_back > 0)
    }

    /// How many events of each peer were not written, once it may have a line again.
    pub(super) fn held_back(&mut self, now: Duration) -> Vec<(String, u64)> {
        let mut counts = Vec::new();
        for (peer, share) in self.0.iter_mut().filter(|(_, share)| share.held_back > 0) {
            if share.bucket.ready(RATE) <= now {
                share.bucket.take(RATE, now);
                counts.push((peer.clone(), std::mem::take(&mut share.held_back)));
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1000);

    fn second(after: u64) -> Duration {
        NOW + Duration::from_secs(after)
    }

    #[test]
    fn a_flood_is_cut_and_counted_and_takes_no_line_of_another() {
        let mut shares = Shares::default();
        let written = (0..10_000).filter(|_| shares.admits("uid:7", NOW)).count();
        assert_eq!(written, 100);
        assert!(shares.admits("raid.service", NOW), "another peer");
        assert!(shares.holds_back() && shares.held_back(NOW).is_empty(), "it has no line left");
        assert_eq!(shares.held_back(second(1)), [("uid:7".to_owned(), 9_900)]);
        assert!(!shares.holds_back());
        assert!(!shares.admits("uid:7", second(1)), "that was its line");
        assert_eq!(shares.held_back(second(2)), [("uid:7".to_owned(), 1)]);
        assert!((0..50).all(|_| shares.admits("uid:7", second(100))));
    }

    #[test]
    fn peers_with_their_whole_share_are_forgotten() {
        let mut shares = Shares::default();
        (0..10 * PEERS as u64).for_each(|n| assert!(shares.admits(&format!("uid:{n}"), second(2 * n))));
        assert!(shares.0.len() <= PEERS, "{}", shares.0.len());
    }
}
