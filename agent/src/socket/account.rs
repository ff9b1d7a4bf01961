//! The account of rejected reports: which peer tried what, how often, and what of it is logged to the journal. Bounded,
//! so that no peer can fill it or the journal by trying.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_ledger::Now;
use nodewell_model::{text::cut, view::RefusedView};
use nodewell_printable::is_hidden;

use super::peer::Identity;
use crate::bucket::{Bucket, Rate};

/// Peers and sources remembered; the one that was rejected longest ago makes room.
const ENTRIES_LIMIT: usize = 64;
/// How many of them are shown.
const SHOWN_LIMIT: usize = 16;
/// A peer's or source's name as it is shown; sources that are accepted are no longer.
const WORD_LIMIT_BYTES: usize = 128;
const WHY_LIMIT_BYTES: usize = 256;
/// One peer is logged at most so often.
const QUIET: Duration = Duration::from_secs(60);
/// All peers together: new ones without number must not flood the journal.
const JOURNAL_RATE: Rate = Rate { burst: 10, interval: Duration::from_secs(6) };

#[derive(Debug)]
pub(super) struct Account {
    /// The newest last.
    entries: Vec<Entry>,
    journal: Bucket,
}

impl Default for Account {
    fn default() -> Self {
        Self { entries: Vec::new(), journal: Bucket::FULL }
    }
}

#[derive(Debug)]
struct Entry {
    peer: String,
    source: String,
    count: u64,
    last: Timestamp,
    why: String,
    /// When this was last logged to the journal, and how many there have been since.
    logged_at: Option<Duration>,
    unlogged: u64,
}

impl Account {
    /// A report of `who` was rejected; `source` is what it called itself, or nothing.
    pub(super) fn add(&mut self, who: &Identity, source: &str, why: &str, now: Now) {
        let (peer, source) = (word(&who.to_string()), word(source));
        let logged_at = self.last_logged(&peer);
        let mut entry = self.take(peer, source);
        entry.count += 1;
        entry.unlogged += 1;
        entry.last = now.wall;
        entry.why = cut(why, WHY_LIMIT_BYTES).to_owned();
        entry.logged_at = logged_at;
        let quiet = logged_at.is_some_and(|at| now.boottime < at + QUIET);
        if !quiet && self.journal.ready(JOURNAL_RATE) <= now.boottime {
            self.journal.take(JOURNAL_RATE, now.boottime);
            log(who, &entry);
            (entry.logged_at, entry.unlogged) = (Some(now.boottime), 0);
        }
        self.entries.push(entry);
    }

    pub(super) fn views(&self) -> Vec<RefusedView> {
        self.entries.iter().rev().take(SHOWN_LIMIT).map(Entry::view).collect()
    }

    /// When this peer was last logged to the journal, whatever it called itself: a new source is no new peer.
    fn last_logged(&self, peer: &str) -> Option<Duration> {
        self.entries.iter().filter(|entry| entry.peer == peer).filter_map(|entry| entry.logged_at).max()
    }

    /// The entry out of the list; it goes back at the end.
    fn take(&mut self, peer: String, source: String) -> Entry {
        if let Some(at) = self.entries.iter().position(|entry| entry.peer == peer && entry.source == source) {
            return self.entries.remove(at);
        }
        if self.entries.len() == ENTRIES_LIMIT {
            self.entries.remove(0);
        }
        Entry { peer, source, count: 0, last: Timestamp::UNIX_EPOCH, why: String::new(), logged_at: None, unlogged: 0 }
    }
}

impl Entry {
    fn view(&self) -> RefusedView {
        let Self { peer, source, count, last, why, .. } = self;
        RefusedView { peer: peer.clone(), source: source.clone(), count: *count, last: *last, why: why.clone() }
    }
}

fn log(who: &Identity, entry: &Entry) {
    let (principal, uid) = (who.principal(), who.uid());
    let (source, refused, why) = (&entry.source, entry.unlogged, &entry.why);
    tracing::warn!(%principal, uid, %source, refused, %why, "reports are refused");
}

/// One line of a bounded length, with nothing in it that is not seen.
fn word(text: &str) -> String {
    cut(text, WORD_LIMIT_BYTES).replace(is_hidden, " ")
}

#[cfg(test)]
mod tests;
