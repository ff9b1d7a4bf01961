//! What a replay has raised so far: a recovery line is reported only if it ends something, as a healthy boot prints
//! many; and some problems end because nothing repeats them, which no line shows but a later one's time.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
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

/// By reason; nearly every reason is of one condition.
type Groups = HashMap<Name, Vec<Group>>;

/// Problems that a clear or quiet would end. One that is raised again, as in a flood, is found by its reason and
/// changed where it is: no order is kept up for it.
#[derive(Debug, Default)]
pub(super) struct Raised {
    groups: Groups,
    /// How many they hold.
    count: usize,
    /// For each of those that end by quiet a time before which it is not over.
    ends: BTreeSet<(Timestamp, Key)>,
    /// Those that this boot has shown: at its end only they are looked at, however many boots there are.
    of_this_boot: BTreeSet<Key>,
}

/// The problems of one condition and reason, by subject.
#[derive(Debug)]
struct Group {
    condition: Name,
    held: BTreeMap<Option<String>, Held>,
}

/// One of them.
#[derive(Debug)]
struct Held {
    source: Arc<str>,
    severity: Severity,
    ends_at_boot: bool,
    is_of_this_boot: bool,
    /// Unknown where its newest line has no time.
    quiet: Option<Quiet>,
    /// Its time in [`Raised::ends`].
    due: Option<Timestamp>,
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
        let is_full = self.count >= LIMIT;
        match (finding.kind, &finding.subject) {
            (FindingKind::Raise, _) => {
                self.raise(condition, finding, at, is_full);
                true
            }
            (FindingKind::Clear, Some(_)) => self.end(condition, &finding.reason, &finding.subject) || is_full,
            // Without a subject it ends all of its reason.
            (FindingKind::Clear, None) => self.end_all(condition, &finding.reason) || is_full,
        }
    }

    /// Whether the end of such a problem may be worth reporting.
    pub(super) fn hears_end(&self, condition: Option<&Name>, reason: &Name) -> bool {
        let Some(condition) = condition else { return true };
        if self.count == 0 {
            return false;
        }
        let is_held = |group: &Group| group.condition == *condition && !group.held.is_empty();
        self.count >= LIMIT || self.groups.get(reason).is_some_and(|groups| groups.iter().any(is_held))
    }

    fn raise(&mut self, condition: &Name, finding: &Finding, at: Option<Timestamp>, is_full: bool) {
        let (reason, subject) = (&finding.reason, &finding.subject);
        let group = group_or_new(&mut self.groups, condition, reason);
        let held = match group.held.get_mut(subject) {
            Some(held) => held,
            None if is_full => return,
            None => {
                self.count += 1;
                group.held.entry(subject.clone()).or_insert_with(|| Held::of(finding))
            }
        };
        held.repeat(finding, at);
        let key = || (condition.clone(), reason.clone(), subject.clone());
        if !std::mem::replace(&mut held.is_of_this_boot, true) {
            self.of_this_boot.insert(key());
        }
        held.plan_end(key, &mut self.ends);
    }

    /// Whether it was there.
    fn end(&mut self, condition: &Name, reason: &Name, subject: &Option<String>) -> bool {
        let held = group(&mut self.groups, condition, reason).and_then(|group| group.held.remove(subject));
        let Some(held) = held else { return false };
        self.forget(&held, (condition.clone(), reason.clone(), subject.clone()));
        true
    }

    /// Whether any was there.
    fn end_all(&mut self, condition: &Name, reason: &Name) -> bool {
        let Some(group) = group(&mut self.groups, condition, reason) else { return false };
        let held = std::mem::take(&mut group.held);
        let is_any = !held.is_empty();
        for (subject, held) in held {
            self.forget(&held, (condition.clone(), reason.clone(), subject));
        }
        is_any
    }

    /// `held` has been taken out.
    fn forget(&mut self, held: &Held, key: Key) {
        self.count -= 1;
        if held.is_of_this_boot {
            self.of_this_boot.remove(&key);
        }
        if let Some(due) = held.due {
            self.ends.remove(&(due, key));
        }
    }

    /// Whether some will be over by time alone.
    pub(super) fn waits(&self) -> bool {
        !self.ends.is_empty()
    }

    /// Whether some may be over by then.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        self.ends.first().is_some_and(|(due, _)| *due <= now)
    }

    /// The next one that is over by the time of line `line`, which is the time of day if `is_dated`.
    pub(super) fn over(&mut self, now: Timestamp, line: u64, is_dated: bool) -> Option<ReplayFinding> {
        while self.ends.first()?.0 <= now {
            let (due, key) = self.ends.pop_first()?;
            let (condition, reason, subject) = &key;
            let Some(group) = group(&mut self.groups, condition, reason) else { continue };
            let Some(held) = group.held.get_mut(subject) else { continue };
            held.due = None;
            let Some(quiet) = held.quiet else { continue };
            if quiet.ends > due {
                // It has been repeated since.
                held.plan_end(|| key.clone(), &mut self.ends);
                continue;
            }
            let held = group.held.remove(subject)?;
            self.forget(&held, key.clone());
            return Some(shown(held, quiet, key, line, is_dated));
        }
        None
    }

    /// A new boot: problems that end with one are over. A clock that counts from boot starts again, and its earlier times
    /// cannot be compared with its new ones: the whole quiet counts from the boot.
    pub(super) fn boot(&mut self, is_dated: bool) {
        for key in std::mem::take(&mut self.of_this_boot) {
            let (condition, reason, subject) = &key;
            let group = group(&mut self.groups, condition, reason);
            let Some(held) = group.and_then(|group| group.held.get_mut(subject)) else { continue };
            if held.ends_at_boot {
                self.end(condition, reason, subject);
                continue;
            }
            held.is_of_this_boot = false;
            if let Some(quiet) = held.quiet.as_mut().filter(|_| !is_dated) {
                (quiet.seen, quiet.ends) = (Timestamp::UNIX_EPOCH, later(Timestamp::UNIX_EPOCH, quiet.lasts));
            }
            held.plan_end(|| key.clone(), &mut self.ends);
        }
    }
}

fn group<'g>(groups: &'g mut Groups, condition: &Name, reason: &Name) -> Option<&'g mut Group> {
    groups.get_mut(reason)?.iter_mut().find(|group| group.condition == *condition)
}

fn group_or_new<'g>(groups: &'g mut Groups, condition: &Name, reason: &Name) -> &'g mut Group {
    let of_reason = groups.entry(reason.clone()).or_default();
    let known = of_reason.iter().position(|group| group.condition == *condition);
    let index = known.unwrap_or(of_reason.len());
    if known.is_none() {
        of_reason.push(Group { condition: condition.clone(), held: BTreeMap::new() });
    }
    &mut of_reason[index]
}

impl Held {
    /// What [`Self::repeat`] makes whole.
    fn of(finding: &Finding) -> Self {
        Self {
            source: Arc::clone(&finding.source),
            severity: finding.severity,
            ends_at_boot: false,
            is_of_this_boot: false,
            quiet: None,
            due: None,
        }
    }

    /// As the agent's ledger does it: the newest says how long, and of one that comes late the later end holds.
    fn repeat(&mut self, finding: &Finding, at: Option<Timestamp>) {
        let new = finding.ends_after_quiet.zip(at);
        let new = new.map(|(lasts, seen)| Quiet { lasts, seen, ends: later(seen, lasts) });
        self.quiet = match (self.quiet, new) {
            (Some(held), Some(late)) if late.seen < held.seen => Some(Quiet { ends: held.ends.max(late.ends), ..held }),
            (_, quiet) => quiet,
        };
        self.severity = self.severity.max(finding.severity);
        self.ends_at_boot = finding.ends_at_boot;
        if self.source != finding.source {
            self.source = Arc::clone(&finding.source);
        }
    }

    /// Sees to it that it is in `ends` if it ends by quiet, and not after that. It may be there before: then it is
    /// planned again when its turn comes.
    fn plan_end(&mut self, key: impl Fn() -> Key, ends: &mut BTreeSet<(Timestamp, Key)>) {
        let over = self.quiet.map(|quiet| quiet.ends);
        if self.due.zip(over).is_some_and(|(due, over)| due <= over) {
            return;
        }
        if let Some(due) = self.due {
            ends.remove(&(due, key()));
        }
        self.due = over;
        ends.extend(over.map(|over| (over, key())));
    }
}

fn shown(held: Held, quiet: Quiet, key: Key, line: u64, is_dated: bool) -> ReplayFinding {
    let (condition, reason, subject) = key;
    ReplayFinding {
        line,
        time: is_dated.then_some(quiet.ends),
        source: held.source,
        lasting: ProblemType::Permanent,
        condition: Some(condition),
        reason,
        severity: held.severity,
        subject,
        message: format!("nothing has repeated it for {}", duration::shown(quiet.lasts)),
        kind: ReplayKind::Clear,
    }
}

fn later(time: Timestamp, lasts: Duration) -> Timestamp {
    time.checked_add(lasts).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
