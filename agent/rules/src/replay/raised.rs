//! What a replay has raised so far: a recovery line is reported only if it ends something, as a healthy boot prints
//! many; and some problems end because nothing repeats them, which no line shows but a later one's time.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use nodewell_model::{Finding, FindingKind, Name, Severity};

use super::{ProblemType, ReplayFinding, ReplayKind};
use crate::duration;

/// Problems held at once; of a log that raises more, every later clear is reported, and the rest never ends by quiet.
const LIMIT: usize = 65_536;

/// Condition, reason and subject.
type Key = (Name, Name, Option<String>);

/// Problems that a clear or quiet would end.
#[derive(Debug, Default)]
pub(super) struct Raised {
    held: BTreeMap<Key, Held>,
    /// When each of `held` will be over that ends by quiet.
    ends: BTreeSet<(Timestamp, Key)>,
    /// Those that this boot has shown: at its end only they are looked at, however many boots there are.
    of_this_boot: Vec<Key>,
}

/// One of them.
#[derive(Debug, Clone)]
struct Held {
    source: Arc<str>,
    severity: Severity,
    ends_at_boot: bool,
    is_of_this_boot: bool,
    /// Unknown where its newest line has no time.
    quiet: Option<Quiet>,
}

#[derive(Debug, Clone, Copy)]
struct Quiet {
    lasts: Duration,
    /// Of the newest repetition.
    seen: Timestamp,
    ends: Timestamp,
}

impl Raised {
    /// Takes note of a finding of a line with this time; whether it is worth reporting.
    pub(super) fn admits(&mut self, finding: &Finding, at: Option<Timestamp>) -> bool {
        let Some(condition) = &finding.condition else { return true };
        let key = (condition.clone(), finding.reason.clone(), finding.subject.clone());
        match (finding.kind, &finding.subject) {
            (FindingKind::Raise, _) => {
                self.raise(key, Held::of(finding, at));
                true
            }
            (FindingKind::Clear, Some(_)) => self.end(&key) || self.held.len() >= LIMIT,
            // Without a subject it ends all of its reason.
            (FindingKind::Clear, None) => {
                let is_full = self.held.len() >= LIMIT;
                let alike = |(other, _): &(&Key, &Held)| (&other.0, &other.1) == (&key.0, &key.1);
                // No subject comes before all subjects.
                let over: Vec<Key> = self.held.range(&key..).take_while(alike).map(|(key, _)| key.clone()).collect();
                let ended = over.iter().filter(|key| self.end(key)).count();
                is_full || ended > 0
            }
        }
    }

    fn raise(&mut self, key: Key, new: Held) {
        let known = self.held.get(&key);
        if known.is_none() && self.held.len() >= LIMIT {
            return;
        }
        if known.is_none_or(|held| !held.is_of_this_boot) {
            self.of_this_boot.push(key.clone());
        }
        let new = match known {
            Some(held) => held.repeated(new),
            None => new,
        };
        self.end(&key);
        if let Some(quiet) = new.quiet {
            self.ends.insert((quiet.ends, key.clone()));
        }
        self.held.insert(key, new);
    }

    /// Whether it was there.
    fn end(&mut self, key: &Key) -> bool {
        let Some(held) = self.held.remove(key) else { return false };
        if let Some(quiet) = held.quiet {
            self.ends.remove(&(quiet.ends, key.clone()));
        }
        true
    }

    /// Whether some will be over by time alone.
    pub(super) fn waits(&self) -> bool {
        !self.ends.is_empty()
    }

    /// The next one that is over by the time of line `line`, which is the time of day if `is_dated`.
    pub(super) fn over(&mut self, now: Timestamp, line: u64, is_dated: bool) -> Option<ReplayFinding> {
        if self.ends.first()?.0 > now {
            return None;
        }
        let (ends, key) = self.ends.pop_first()?;
        let held = self.held.remove(&key)?;
        let (condition, reason, subject) = key;
        Some(ReplayFinding {
            line,
            time: is_dated.then_some(ends),
            source: held.source,
            lasting: ProblemType::Permanent,
            condition: Some(condition),
            reason,
            severity: held.severity,
            subject,
            message: format!("nothing has repeated it for {}", duration::shown(held.quiet?.lasts)),
            kind: ReplayKind::Clear,
        })
    }

    /// A new boot: problems that end with one are over. A clock that counts from boot starts again, and its earlier times
    /// cannot be compared with its new ones: the whole quiet counts from the boot.
    pub(super) fn boot(&mut self, is_dated: bool) {
        for key in std::mem::take(&mut self.of_this_boot) {
            let Some(mut held) = self.held.get(&key).cloned() else { continue };
            self.end(&key);
            if held.ends_at_boot {
                continue;
            }
            held.is_of_this_boot = false;
            if let Some(quiet) = held.quiet.as_mut().filter(|_| !is_dated) {
                (quiet.seen, quiet.ends) = (Timestamp::UNIX_EPOCH, later(Timestamp::UNIX_EPOCH, quiet.lasts));
            }
            self.ends.extend(held.quiet.map(|quiet| (quiet.ends, key.clone())));
            self.held.insert(key, held);
        }
    }
}

impl Held {
    fn of(finding: &Finding, at: Option<Timestamp>) -> Self {
        let quiet =
            finding.ends_after_quiet.zip(at).map(|(lasts, seen)| Quiet { lasts, seen, ends: later(seen, lasts) });
        let (source, severity) = (Arc::clone(&finding.source), finding.severity);
        Self { source, severity, ends_at_boot: finding.ends_at_boot, is_of_this_boot: true, quiet }
    }

    /// As the agent's ledger does it: the newest says how long, and of one that comes late the later end holds.
    fn repeated(&self, new: Self) -> Self {
        let quiet = match (self.quiet, new.quiet) {
            (Some(held), Some(late)) if late.seen < held.seen => Some(Quiet { ends: held.ends.max(late.ends), ..held }),
            (_, quiet) => quiet,
        };
        Self { severity: self.severity.max(new.severity), quiet, ..new }
    }
}

fn later(time: Timestamp, lasts: Duration) -> Timestamp {
    time.checked_add(lasts).unwrap_or(Timestamp::MAX)
}
