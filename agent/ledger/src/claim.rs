//! Claims and problems: which source reports what of one subject, and since when.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use nodewell_model::{Action, BootId, Finding, Severity, api::ProblemVersion, text};
use serde::{Deserialize, Serialize};

use crate::Now;

/// So long a problem made by `nodewell inject` lasts, whatever its rule sets.
pub(crate) const TEST_LASTS: Duration = Duration::from_secs(60);

/// How exact `last seen` is for what is confirmed again and again: each step is a change that all clients see.
const SEEN_EVERY: Duration = Duration::from_secs(10);

/// Whose claim it is. Tests and real findings of one source are two claimants: a test neither refreshes nor ends
/// what is real.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Claimant {
    pub(crate) source: Arc<str>,
    pub(crate) test: bool,
}

/// What one source reports of one problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claim {
    pub(crate) since: Timestamp,
    pub(crate) last_seen: Timestamp,
    pub(crate) count: u64,
    /// The worst so far: a milder repetition does not make the problem milder.
    #[serde(deserialize_with = "Severity::saved")]
    pub(crate) severity: Severity,
    pub(crate) message: String,
    pub(crate) boot_id: Option<BootId>,
    pub(crate) ends_at_boot: bool,
    #[serde(default, deserialize_with = "Action::saved")]
    pub(crate) action: Option<Action>,
    /// It ends when nothing repeated it for this long.
    #[serde(rename = "quiet")]
    pub(crate) ends_after_quiet: Option<Duration>,
    /// What an external daemon named as the transition; the same again only confirms.
    #[serde(default)]
    pub(crate) transition: Option<Timestamp>,
    /// Boot time at which the claim ends by itself.
    pub(crate) deadline: Option<Duration>,
}

/// A fault that at least one source claims.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Problem {
    pub(crate) claims: BTreeMap<Claimant, Claim>,
}

/// When a claim ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lasting {
    /// Its quiet time had passed before it arrived.
    Over,
    Until(Duration),
    /// Until evidence ends it.
    Open,
}

impl Claimant {
    pub(crate) fn of(finding: &Finding) -> Self {
        Self { source: Arc::clone(&finding.source), test: finding.test }
    }
}

impl Lasting {
    /// Record time becomes boot time of arrival: what is left of the quiet time counts from now.
    pub(crate) fn of(finding: &Finding, now: Now) -> Self {
        if finding.test {
            return Self::Until(now.after(TEST_LASTS));
        }
        match finding.ends_after_quiet {
            None => Self::Open,
            Some(quiet) => {
                now.left_of(quiet, finding.last_time).map_or(Self::Over, |left| Self::Until(now.after(left)))
            }
        }
    }

    fn deadline(self) -> Option<Duration> {
        if let Self::Until(deadline) = self { Some(deadline) } else { None }
    }
}

/// What a claim that is written down changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Change {
    /// So many occurrences more.
    pub(crate) counted: u64,
    /// Worth a write: more than the time at which it was last seen, and figures.
    pub(crate) is_news: bool,
    /// Before and after.
    pub(crate) deadlines: (Option<Duration>, Option<Duration>),
}

impl Claim {
    /// By a record, or by a report that names a `transition`.
    pub(crate) fn new(finding: Finding, transition: Option<Timestamp>, now: Now) -> Self {
        let since = finding.time.min(now.wall);
        let deadline = Lasting::of(&finding, now).deadline();
        Self {
            since,
            last_seen: finding.last_time.min(now.wall).max(since),
            count: finding.count,
            severity: finding.severity,
            message: finding.message,
            boot_id: finding.boot_id,
            ends_at_boot: finding.ends_at_boot,
            action: finding.action,
            ends_after_quiet: finding.ends_after_quiet,
            transition,
            deadline,
        }
    }

    /// Its source claims it once more: a record adds, a report replaces unless it is the same; `None` if it is.
    pub(crate) fn merge(&mut self, later: Self, now: Now) -> Option<Change> {
        if later.transition.is_some() {
            return self.restate(later, now);
        }
        let (counted, before) = (later.count, self.deadline);
        self.repeat(later);
        Some(Change { counted, is_news: true, deadlines: (before, self.deadline) })
    }

    /// Merges a repetition. It counts in any case; its message and its quiet time hold if nothing newer was seen.
    pub(crate) fn repeat(&mut self, later: Self) {
        self.count = self.count.saturating_add(later.count);
        self.since = self.since.min(later.since);
        self.severity = self.severity.max(later.severity);
        if later.last_seen < self.last_seen {
            // Late, or the wall clock went back: its time is no measure, so the later end holds, with its quiet time: a
            // restart bounds the end by that.
            (self.deadline, self.ends_after_quiet) = match (self.deadline, later.deadline) {
                (Some(held), Some(new)) if new > held => (Some(new), later.ends_after_quiet),
                (Some(held), Some(_)) => (Some(held), self.ends_after_quiet),
                _ => (None, None),
            };
            return;
        }
        let (count, since, severity) = (self.count, self.since, self.severity);
        let action = later.action.or(self.action);
        *self = Self { count, since, severity, action, ..later };
    }

    /// The daemon reports it once more. Its message replaces the former one, whatever that was. Only a new transition
    /// is another occurrence; other figures in the same message (a temperature, a count) are no news.
    fn restate(&mut self, later: Self, now: Now) -> Option<Change> {
        let again = self.transition != later.transition;
        let alike = (self.severity, self.action) == (later.severity, later.action);
        let same = alike && self.message == later.message;
        if same && !again && now.age_of(self.last_seen) < SEEN_EVERY {
            return None;
        }
        // The wall clock went back: since when is another time.
        let is_other = !alike || later.since < self.since;
        let is_news = again || is_other || !text::differ_in_figures_only(&self.message, &later.message);
        let counted = u64::from(again);
        self.count = self.count.saturating_add(counted);
        self.since = self.since.min(later.since);
        self.transition = later.transition;
        self.last_seen = self.last_seen.max(later.last_seen);
        (self.severity, self.action, self.message) = (later.severity, later.action, later.message);
        Some(Change { counted, is_news, deadlines: (self.deadline, self.deadline) })
    }
}

impl Problem {
    /// The claims that are shown: tests only where nothing real is claimed.
    pub(crate) fn shown(&self) -> impl Iterator<Item = (&Claimant, &Claim)> {
        let test = self.is_test();
        self.claims.iter().filter(move |(claimant, _)| claimant.test == test)
    }

    /// Whether only `nodewell inject` claims it.
    pub(crate) fn is_test(&self) -> bool {
        self.claims.keys().all(|claimant| claimant.test)
    }

    /// Who claims it, without tests.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &Arc<str>> {
        self.claims.keys().filter(|claimant| !claimant.test).map(|claimant| &claimant.source)
    }

    pub(crate) fn severity(&self) -> Severity {
        self.shown().map(|(_, claim)| claim.severity).max().unwrap_or(Severity::Info)
    }

    pub(crate) fn since(&self) -> Option<Timestamp> {
        self.shown().map(|(_, claim)| claim.since).min()
    }

    /// How often and when it was claimed last; `None` without a claim.
    pub(crate) fn version(&self) -> Option<ProblemVersion> {
        let count = self.shown().fold(0, |sum: u64, (_, claim)| sum.saturating_add(claim.count));
        Some(ProblemVersion { count, last_seen: self.shown().map(|(_, claim)| claim.last_seen).max()? })
    }

    /// The claim whose message stands for the problem: the worst, then the newest.
    pub(crate) fn spokesman(&self) -> Option<&Claim> {
        self.shown().map(|(_, claim)| claim).max_by_key(|claim| (claim.severity, claim.last_seen))
    }
}
