//! What the ledger stores of a daemon that reports over the socket: what it claims, what it reports as unknown, and the
//! ids of its last reports.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

use jiff::Timestamp;
use nodewell_model::{Hardware, Name, ProblemKey, SubjectKey};
use serde::{Deserialize, Serialize};

use crate::{Now, saved::newer, unreported::Unreported};

/// Ids remembered for each daemon: more than a client has on their way at once, little enough for hundreds of daemons.
const IDS_LIMIT: usize = 64;
/// Last reports that are remembered, for reports that come again after them.
pub(crate) const DEPARTED_LIMIT: usize = 64;
/// A silent daemon that claims nothing is forgotten after this.
pub(crate) const FORGOTTEN_AFTER: Duration = Duration::from_secs(86_400);

/// A service that stopped with the agent, or with the node, is started beside it.
const RETURN_WITHIN: Duration = Duration::from_secs(60);

/// What becomes of a daemon's problems when it goes silent; its grant decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnStale {
    /// They stay, unconfirmed: a disk that hangs its own monitor must not erase its verdict.
    #[default]
    Keep,
    /// They end.
    Clear,
}

/// Reasons by what they are about.
pub(crate) type Held = BTreeMap<SubjectKey, BTreeSet<Name>>;

/// The part of a daemon that only external ones have.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Reporter {
    #[serde(deserialize_with = "newer::or_default")]
    pub(crate) on_stale: OnStale,
    pub(crate) ids: Ids,
    /// What it reports as unknown.
    pub(crate) unsure: Vec<Unsure>,
    /// The devices that it counts. What a newer version adds to one is an error in a report, and none in a row.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "newer::understood")]
    pub(crate) hardware: Vec<Hardware>,
    /// The reasons it claims for each subject, one at least: the same claims as in the conditions, found by subject.
    #[serde(skip)]
    pub(crate) held: Held,
    /// How many that are.
    #[serde(skip)]
    pub(crate) claims: usize,
    /// It has stopped, and is forgotten after this unless it reports before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lingers: Option<Linger>,
    /// What it has not reported since it was started again.
    #[serde(default, skip_serializing_if = "Unreported::is_empty")]
    pub(crate) unreported: Unreported,
    /// It is root's, or one of our own check processes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) may_use_reserve: bool,
    /// It has sent a full report since it was started.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) sent_full: bool,
}

/// How long conditions of a daemon that has stopped stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Linger {
    span: Duration,
    /// Boot time at which they go.
    pub(crate) until: Duration,
    /// The agent was away at that time once already.
    prolonged: bool,
}

impl Linger {
    pub(crate) fn new(span: Duration, now: Now) -> Self {
        Self { span, until: now.after(span), prolonged: false }
    }

    /// The agent starts. While it was away the daemon had nothing to report to, so a time that has passed begins again,
    /// once: an agent that restarts for ever would hold what is gone for ever.
    pub(crate) fn loaded(self, rebooted: bool, now: Now) -> Self {
        let begins_again = rebooted || (self.until <= now.boottime && !self.prolonged);
        // An older version may have left the row as it was, through other boots.
        let left = self.until.min(now.after(self.span));
        let until = if begins_again { now.after(self.span.min(RETURN_WITHIN)) } else { left };
        Self { until, prolonged: !rebooted && (self.prolonged || begins_again), ..self }
    }
}

/// What an `Unknown` is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Extent {
    /// What it names, and no more.
    #[default]
    Itself,
    /// The type as such, and each subject that the daemon does not name.
    WithSubjects,
    /// Only such subjects: the daemon has since reported a fault of the type as such.
    OnlySubjects,
}

/// One `Unknown` of a daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Unsure {
    pub(crate) subject: SubjectKey,
    #[serde(default, skip_serializing_if = "Extent::is_itself", deserialize_with = "newer::or_default")]
    pub(crate) extent: Extent,
    pub(crate) since: Timestamp,
    pub(crate) reason: Name,
    pub(crate) message: String,
}

impl Extent {
    fn is_itself(&self) -> bool {
        *self == Self::Itself
    }

    /// With an `Unknown` of the same once more: what is in doubt already stays so.
    fn with(self, again: Self) -> Self {
        if self == Self::Itself { again } else { Self::WithSubjects }
    }
}

/// The newest report ids of one daemon.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Ids(VecDeque<Box<str>>);

impl Ids {
    pub(crate) fn contains(&self, id: &str) -> bool {
        // The newest is the likeliest to come again.
        self.0.iter().rev().any(|known| **known == *id)
    }

    pub(crate) fn remember(&mut self, id: &str) {
        if self.0.len() == IDS_LIMIT {
            self.0.pop_front();
        }
        self.0.push_back(id.into());
    }
}

impl Reporter {
    /// Every subject of which it reports something.
    pub(crate) fn subjects(&self) -> impl Iterator<Item = &SubjectKey> {
        let only_unsure =
            self.unsure.iter().map(|unsure| &unsure.subject).filter(|subject| !self.held.contains_key(subject));
        self.held.keys().chain(only_unsure)
    }

    /// How much that is: each reason counts.
    pub(crate) fn reported_count(&self) -> usize {
        let reasons = |subject| self.held.get(subject).map_or(1, BTreeSet::len);
        self.subjects().map(reasons).sum()
    }

    /// It sends a report, the first one since its start if that `is_first`. Returns whether that is news.
    pub(crate) fn note_full(&mut self, full: bool, is_first: bool) -> bool {
        let sent_full = full || (self.sent_full && !is_first);
        std::mem::replace(&mut self.sent_full, sent_full) != sent_full
    }

    /// Its subjects of `condition`.
    pub(crate) fn subjects_of(&self, condition: &Name) -> Vec<SubjectKey> {
        self.subjects().filter(|subject| subject.condition == *condition).cloned().collect()
    }

    /// Its claims on `subject`.
    pub(crate) fn keys(&self, subject: &SubjectKey) -> Vec<ProblemKey> {
        self.held.get(subject).into_iter().flatten().map(|reason| subject.problem(reason.clone())).collect()
    }

    /// Everything that it claims.
    pub(crate) fn all_keys(&self) -> Vec<ProblemKey> {
        self.held
            .iter()
            .flat_map(|(subject, reasons)| reasons.iter().map(|reason| subject.problem(reason.clone())))
            .collect()
    }

    /// It claims `key`.
    pub(crate) fn hold(&mut self, key: &ProblemKey) {
        let subject = key.subject_key();
        let is_new = self.held.entry(subject).or_default().insert(key.reason.clone());
        self.claims += usize::from(is_new);
    }

    /// Records that the daemon reports it as unknown; returns whether that is new.
    pub(crate) fn doubt(&mut self, unsure: Unsure) -> bool {
        let Some(known) = self.unsure.iter_mut().find(|known| known.subject == unsure.subject) else {
            self.unsure.push(unsure);
            return true;
        };
        let extent = known.extent.with(unsure.extent);
        let same = (&known.reason, &known.message, known.extent) == (&unsure.reason, &unsure.message, extent);
        let since = if known.extent == Extent::OnlySubjects { unsure.since } else { known.since };
        *known = Unsure { extent, since, ..unsure };
        !same
    }

    /// The daemon reports a fault of it; returns whether it was unknown. A fault without a subject is no news of the
    /// subjects.
    pub(crate) fn know_of(&mut self, subject: &SubjectKey) -> bool {
        let known = self.unsure.iter_mut().find(|unsure| unsure.subject == *subject);
        match known.map(|known| &mut known.extent) {
            Some(Extent::OnlySubjects) => false,
            Some(extent @ Extent::WithSubjects) => {
                *extent = Extent::OnlySubjects;
                true
            }
            Some(Extent::Itself) | None => self.clear_unsure(subject),
        }
    }

    /// The daemon can report it again; returns whether it could not.
    pub(crate) fn clear_unsure(&mut self, subject: &SubjectKey) -> bool {
        let before = self.unsure.len();
        self.unsure.retain(|unsure| unsure.subject != *subject);
        before != self.unsure.len()
    }

    /// Forgets doubts that the one about the type of `whole` stands for; returns whether there were any.
    pub(crate) fn absorb(&mut self, whole: &SubjectKey, named: &BTreeSet<SubjectKey>) -> bool {
        let (before, held) = (self.unsure.len(), &self.held);
        let is_meant = |subject: &SubjectKey| {
            subject.condition == whole.condition && subject.subject.is_some() && !named.contains(subject)
        };
        self.unsure.retain(|unsure| !is_meant(&unsure.subject) || held.contains_key(&unsure.subject));
        before != self.unsure.len()
    }

    /// Why the daemon reports `condition` as unknown, if it does.
    pub(crate) fn doubt_of(&self, condition: &Name) -> Option<&Unsure> {
        self.unsure.iter().find(|unsure| unsure.subject.condition == *condition)
    }

    /// Since when the daemon has not known whether `key` is still there.
    pub(crate) fn unsure_since(&self, key: &ProblemKey) -> Option<Timestamp> {
        let of = |unsure: &&Unsure| {
            unsure.subject.condition == key.condition
                && unsure.subject.subject == key.subject
                && unsure.extent != Extent::OnlySubjects
        };
        self.unsure.iter().find(of).map(|unsure| unsure.since)
    }

    /// The claim on `key` is gone, whatever ended it.
    pub(crate) fn lost(&mut self, key: &ProblemKey) {
        let subject = key.subject_key();
        let Some(reasons) = self.held.get_mut(&subject) else { return };
        self.claims -= usize::from(reasons.remove(&key.reason));
        if reasons.is_empty() {
            self.held.remove(&subject);
        }
    }
}
