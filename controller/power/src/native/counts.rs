//! How often BMCs were logged in to: BMCs log every login, and lock accounts. By kind since the start, and by BMC in the last hour,
//! of which figures are shown and no series for each.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use nodewell_remediation::time::Moment;

use crate::identity::Protocol;

/// The last hour is counted in parts of so long: a login is forgotten 60 to 70 minutes after it was.
const PART: Duration = Duration::from_secs(600);
/// The part under way, and six before it.
const PARTS: usize = 7;

/// What asked. A run of an agent is counted as one login, and is one for each of its requests to some BMCs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    /// The controller itself: who the machine is, and whether it is on.
    Native,
    Agent,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    Answered,
    /// The BMC does not take the account.
    Refused,
    /// No answer, or none of use; an agent's refused login looks the same.
    Failed,
}

/// Logins of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    pub by: By,
    pub protocol: Protocol,
    pub outcome: Outcome,
}

/// A node and its method.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Bmc {
    node: String,
    method: String,
}

/// What was counted since this program's start.
#[derive(Debug, Default)]
pub struct LoginCounts(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    kinds: BTreeMap<Kind, u64>,
    bmcs: BTreeMap<Bmc, LastHour>,
}

#[derive(Debug, Default)]
struct LastHour {
    /// Which part of the time was counted last.
    newest: u128,
    parts: [u32; PARTS],
}

/// What all of it comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoginFigures {
    pub kinds: BTreeMap<Kind, u64>,
    /// Of each BMC that was asked in the last hour, the fewest first.
    pub last_hour: Vec<u32>,
}

impl LoginFigures {
    /// Of so many in a hundred BMCs no more logins were made in the last hour.
    #[must_use]
    pub fn percentile(&self, percent: usize) -> u32 {
        let rank = (self.last_hour.len() * percent).div_ceil(100).max(1);
        self.last_hour.get(rank - 1).copied().unwrap_or_default()
    }
}

impl LastHour {
    fn count(&mut self, part: u128) {
        self.pass(part);
        self.parts[0] += 1;
    }

    fn pass(&mut self, part: u128) {
        let passed = usize::try_from(part.saturating_sub(self.newest)).unwrap_or(PARTS).min(PARTS);
        self.parts.rotate_right(passed);
        self.parts[..passed].fill(0);
        self.newest = self.newest.max(part);
    }
}

impl LoginCounts {
    pub(super) fn count(&self, node: &str, method: &str, kind: Kind, now: Moment) {
        let mut counted = self.lock();
        *counted.kinds.entry(kind).or_default() += 1;
        let bmc = Bmc { node: node.to_owned(), method: method.to_owned() };
        counted.bmcs.entry(bmc).or_default().count(part(now));
    }

    pub(super) fn forget(&self, is_there: impl Fn(&str) -> bool) {
        self.lock().bmcs.retain(|bmc, _| is_there(&bmc.node));
    }

    /// As they are now.
    #[must_use]
    pub fn figures(&self, now: Moment) -> LoginFigures {
        let mut counted = self.lock();
        counted.bmcs.values_mut().for_each(|hour| hour.pass(part(now)));
        let logins = counted.bmcs.values().map(|hour| hour.parts.iter().sum());
        let mut last_hour: Vec<u32> = logins.filter(|logins| *logins > 0).collect();
        last_hour.sort_unstable();
        LoginFigures { kinds: counted.kinds.clone(), last_hour }
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn part(now: Moment) -> u128 {
    now.0.as_millis() / PART.as_millis()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind { by: By::Native, protocol: Protocol::Redfish, outcome: Outcome::Answered };

    fn at(minutes: u64) -> Moment {
        Moment(Duration::from_secs(60 * minutes))
    }

    #[test]
    fn a_login_counts_for_an_hour_and_in_the_total_for_ever() {
        let counts = LoginCounts::default();
        counts.count("n1", "bmc", KIND, at(1));
        counts.count("n1", "bmc", KIND, at(12));
        assert_eq!(counts.figures(at(61)).last_hour, [2]);
        assert_eq!(counts.figures(at(71)).last_hour, [1], "the first is 70 minutes old");
        let figures = counts.figures(at(600));
        assert_eq!((figures.last_hour.as_slice(), figures.kinds[&KIND]), ([].as_slice(), 2));
    }

    #[test]
    fn figures_are_of_bmcs_and_not_of_logins() {
        let counts = LoginCounts::default();
        for node in 0..99 {
            counts.count(&format!("n{node}"), "bmc", KIND, at(1));
        }
        (0..50).for_each(|_| counts.count("n99", "bmc", KIND, at(1)));
        let figures = counts.figures(at(2));
        assert_eq!((figures.percentile(50), figures.percentile(99), figures.percentile(100)), (1, 1, 50));
        assert_eq!(LoginFigures::default().percentile(50), 0);
        counts.forget(|node| node != "n99");
        assert_eq!(counts.figures(at(2)).percentile(100), 1);
    }
}
