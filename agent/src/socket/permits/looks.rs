//! How often procfs may be asked for the identity of a new connection: a flood of connects must not become a flood of
//! look-ups.

use std::{collections::VecDeque, time::Duration};

use super::super::peer::Peer;
use crate::bucket::{Bucket, Rate};

/// A look takes some 50 µs, so this is at most a twentieth of a core.
const RATE: Rate = Rate { burst: 100, interval: Duration::from_millis(1) };
/// A process that was refused is refused unseen for so long: a number that changes hands meanwhile costs its new
/// owner one more try.
const REFUSED_FOR: Duration = Duration::from_secs(1);
const REMEMBERED_LIMIT: usize = 32;

pub(super) struct Looks {
    /// Peers of root's, the agent's or a check process' user, and all others: the second cannot use up the first's.
    buckets: [Bucket; 2],
    /// Process and user that were refused, and until when that holds.
    refused: VecDeque<(u32, u32, Duration)>,
}

impl Default for Looks {
    fn default() -> Self {
        Self { buckets: [Bucket::FULL; 2], refused: VecDeque::new() }
    }
}

impl Looks {
    pub(super) fn may_look(&mut self, peer: &Peer, has_a_claim: bool, now: Duration) -> bool {
        if self.is_refused(peer, now) {
            return false;
        }
        let bucket = &mut self.buckets[usize::from(has_a_claim)];
        let there_is = bucket.ready(RATE) <= now;
        if there_is {
            bucket.take(RATE, now);
        }
        there_is
    }

    fn is_refused(&mut self, peer: &Peer, now: Duration) -> bool {
        self.refused.retain(|(_, _, until)| *until > now);
        self.refused.iter().any(|(pid, uid, _)| (*pid, *uid) == (peer.pid(), peer.uid()))
    }

    pub(super) fn remember(&mut self, peer: &Peer, now: Duration) {
        // Those without a number here cannot be distinguished, and are known without a look. And one that was refused
        // unseen is not refused for longer: a client that tries again and again would never be looked at.
        if peer.pid() == 0 || self.is_refused(peer, now) {
            return;
        }
        if self.refused.len() == REMEMBERED_LIMIT {
            self.refused.pop_front();
        }
        self.refused.push_back((peer.pid(), peer.uid(), now + REFUSED_FOR));
    }
}
