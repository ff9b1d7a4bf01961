//! What the ledger stores of a daemon that reports over the socket: what it claims, what it reports as unknown, and the
//! ids of its last reports.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

use jiff::Timestamp;
use nodewell_model::{Inventory, Name, ProblemKey};
use serde::{Deserialize, Serialize};

/// Ids remembered for each daemon: more than a client has on their way at once, little enough for hundreds of daemons.
const IDS_LIMIT: usize = 64;
/// A silent daemon that claims nothing is forgotten after this.
pub(crate) const FORGOTTEN_AFTER: Duration = Duration::from_secs(86_400);

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

/// A condition type and a subject: for these a daemon has one status, and if that is True, one or more reasons.
pub(crate) type Spot = (Name, Option<String>);

/// Reasons by what they are about.
pub(crate) type Held = BTreeMap<Spot, BTreeSet<Name>>;

/// The part of a daemon that only external ones have.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Reporter {
    pub(crate) on_stale: OnStale,
    pub(crate) ids: Ids,
    /// What it reports as unknown.
    pub(crate) unsure: Vec<Unsure>,
    /// The devices that it counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) inventory: Vec<Inventory>,
    /// The reasons it claims for each spot, one at least: the same claims as on the pages, found by subject.
    #[serde(skip)]
    pub(crate) held: Held,
}

/// One `Unknown` of a daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Unsure {
    pub(crate) spot: Spot,
    pub(crate) since: Timestamp,
    pub(crate) reason: Name,
    pub(crate) message: String,
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
    /// Every spot of which it reports something.
    pub(crate) fn spots(&self) -> impl Iterator<Item = &Spot> {
        let only_unsure = self.unsure.iter().map(|unsure| &unsure.spot).filter(|spot| !self.held.contains_key(spot));
        self.held.keys().chain(only_unsure)
    }

    /// How much that is: each reason counts.
    pub(crate) fn spoken_of(&self) -> usize {
        let reasons = |spot| self.held.get(spot).map_or(1, BTreeSet::len);
        self.spots().map(reasons).sum()
    }

    /// Its spots of `condition`.
    pub(crate) fn spots_of(&self, condition: &Name) -> Vec<Spot> {
        self.spots().filter(|(name, _)| name == condition).cloned().collect()
    }

    /// Its claims on `spot`.
    pub(crate) fn keys(&self, spot: &Spot) -> Vec<ProblemKey> {
        self.held.get(spot).into_iter().flatten().map(|reason| key(spot, reason)).collect()
    }

    /// Everything that it claims.
    pub(crate) fn all_keys(&self) -> Vec<ProblemKey> {
        self.held.iter().flat_map(|(spot, reasons)| reasons.iter().map(|reason| key(spot, reason))).collect()
    }

    /// It claims `key`.
    pub(crate) fn hold(&mut self, key: &ProblemKey) {
        let spot = (key.condition.clone(), key.subject.clone());
        self.held.entry(spot).or_default().insert(key.reason.clone());
    }

    /// Records that the daemon reports it as unknown; returns whether that is new.
    pub(crate) fn doubt(&mut self, unsure: Unsure) -> bool {
        let Some(known) = self.unsure.iter_mut().find(|known| known.spot == unsure.spot) else {
            self.unsure.push(unsure);
            return true;
        };
        let same = (&known.reason, &known.message) == (&unsure.reason, &unsure.message);
        (known.reason, known.message) = (unsure.reason, unsure.message);
        !same
    }

    /// The daemon can report it again; returns whether it could not.
    pub(crate) fn settle(&mut self, spot: &Spot) -> bool {
        let before = self.unsure.len();
        self.unsure.retain(|unsure| unsure.spot != *spot);
        before != self.unsure.len()
    }

    /// Forgets doubts that the one about the type of `whole` stands for; returns whether there were any.
    pub(crate) fn take_in(&mut self, whole: &Spot, named: &BTreeSet<Spot>) -> bool {
        let (before, held) = (self.unsure.len(), &self.held);
        let is_meant = |spot: &Spot| spot.0 == whole.0 && spot.1.is_some() && !named.contains(spot);
        self.unsure.retain(|unsure| !is_meant(&unsure.spot) || held.contains_key(&unsure.spot));
        before != self.unsure.len()
    }

    /// Why the daemon reports `condition` as unknown, if it does.
    pub(crate) fn doubt_of(&self, condition: &Name) -> Option<&Unsure> {
        self.unsure.iter().find(|unsure| unsure.spot.0 == *condition)
    }

    /// Since when the daemon has not known whether `key` is still there.
    pub(crate) fn unsure_since(&self, key: &ProblemKey) -> Option<Timestamp> {
        let of = |unsure: &&Unsure| unsure.spot.0 == key.condition && unsure.spot.1 == key.subject;
        self.unsure.iter().find(of).map(|unsure| unsure.since)
    }

    /// The claim on `key` is gone, whatever ended it.
    pub(crate) fn lost(&mut self, key: &ProblemKey) {
        let spot = (key.condition.clone(), key.subject.clone());
        let Some(reasons) = self.held.get_mut(&spot) else { return };
        reasons.remove(&key.reason);
        if reasons.is_empty() {
            self.held.remove(&spot);
        }
    }
}

fn key(spot: &Spot, reason: &Name) -> ProblemKey {
    ProblemKey { condition: spot.0.clone(), reason: reason.clone(), subject: spot.1.clone() }
}
