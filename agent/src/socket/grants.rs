//! Who may report what: the config's `[[grant]]` tables, the built-in ones, and what is missing if none covers a
//! report. Pure.

use std::time::Duration;

use nodewell_ledger::OnStale;
use nodewell_model::{ConditionStatus, Name, Status};
use nodewell_rules::Location;

use super::{check_process_units, peer::Identity};
use crate::{
    bucket::Rate,
    config::{Grant, Grantee, Types},
};

/// A check process watches dozens of devices, and reports each as it changes.
const CHECK_PROCESS_RATE: u32 = 200;
/// How long a burst lasts at the full rate, where a grant names a rate only.
const BURST_SECS: u32 = 2;

/// Names that a rejection lists; what else is missing is reported when these are granted.
const NAMED_LIMIT: usize = 16;

impl Types {
    fn contains(&self, name: &Name) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(name),
        }
    }
}

/// All of them. They add up: what one grant does not give another may.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grants(Vec<Grant>);

impl Grants {
    /// The built-in ones, then the config's.
    #[must_use]
    pub fn new(config: &[Grant]) -> Self {
        let check_processes = check_process_units::UNITS.iter().map(|unit| Grant {
            to: Grantee::Unit((*unit).to_owned()),
            written: String::new(),
            conditions: Types::All,
            reasons: None,
            events: true,
            clear: Types::All,
            interval: Some(Duration::from_secs(1) / CHECK_PROCESS_RATE),
            burst: None,
            on_stale: None,
            at: Location { file: "(built in)".into(), line: 0 },
        });
        Self(check_processes.chain(config.iter().cloned()).collect())
    }

    /// What all of them together give to `who`.
    pub(super) fn of(&self, who: &Identity, owner: u32) -> Rights<'_> {
        // Our own user is the one that runs the agent; root could become it at any time.
        let unbounded = who.is_root() || who.is_user(owner);
        Rights { unbounded, grants: self.0.iter().filter(|grant| grant.to.is(who)).collect() }
    }
}

impl Grantee {
    fn is(&self, who: &Identity) -> bool {
        match self {
            Self::Unit(unit) => who.is_unit(unit),
            Self::User(uid) => who.is_user(*uid),
            Self::Group(gid) => who.is_in_group(*gid),
        }
    }
}

/// What one peer may do.
pub(super) struct Rights<'a> {
    /// Root and the agent's own user may report and clear everything, and inject.
    unbounded: bool,
    grants: Vec<&'a Grant>,
}

/// What a report needs and its peer does not have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Missing {
    pub(super) conditions: Vec<Name>,
    pub(super) reasons: Vec<Name>,
    pub(super) events: bool,
    /// It counts devices: no grant of the config gives that.
    pub(super) hardware: bool,
}

impl Missing {
    pub(super) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl Rights<'_> {
    pub(super) fn is_unbounded(&self) -> bool {
        self.unbounded
    }

    /// Whether it may report anything at all.
    pub(super) fn may_report(&self) -> bool {
        let gives = |grant: &&Grant| grant.events || grant.conditions != Types::Only(Vec::new());
        self.unbounded || self.grants.iter().any(gives)
    }

    pub(super) fn may_clear_something(&self) -> bool {
        self.unbounded || self.grants.iter().any(|grant| grant.clear != Types::Only(Vec::new()))
    }

    pub(super) fn may_clear(&self, condition: &Name) -> bool {
        self.unbounded || self.grants.iter().any(|grant| grant.clear.contains(condition))
    }

    /// What `reports` need beyond this.
    pub(super) fn missing(&self, reports: &[Status]) -> Missing {
        let mut missing = Missing::default();
        if self.unbounded {
            return missing;
        }
        for condition in reports.iter().flat_map(|report| &report.conditions) {
            // The end of a problem has a reason, too, but it needs no grant: it does no harm.
            let reason = (condition.status == ConditionStatus::True).then_some(&condition.reason);
            self.condition(&condition.condition, reason, &mut missing);
        }
        for event in reports.iter().flat_map(|report| &report.events) {
            self.event(&event.reason, &mut missing);
        }
        missing.hardware = !self.are_of_everything() && reports.iter().any(counts);
        missing
    }

    /// It may report for any part of the node: only such a peer may add to what is counted of all daemons, and finds room
    /// where others have used up theirs.
    pub(super) fn are_of_everything(&self) -> bool {
        self.unbounded || self.grants.iter().any(|grant| grant.is_of_everything())
    }

    fn condition(&self, condition: &Name, reason: Option<&Name>, missing: &mut Missing) {
        let mut of_type = self.grants.iter().filter(|grant| grant.conditions.contains(condition)).peekable();
        if of_type.peek().is_none() {
            push_new(&mut missing.conditions, condition);
        } else if let Some(reason) = reason
            && !of_type.any(|grant| grant.takes(reason))
        {
            push_new(&mut missing.conditions, condition);
            push_new(&mut missing.reasons, reason);
        }
    }

    fn event(&self, reason: &Name, missing: &mut Missing) {
        let mut with_events = self.grants.iter().filter(|grant| grant.events).peekable();
        if with_events.peek().is_none() {
            missing.events = true;
        } else if !with_events.any(|grant| grant.takes(reason)) {
            missing.events = true;
            push_new(&mut missing.reasons, reason);
        }
    }

    /// The highest rate that any grant gives, else the socket's own.
    pub(super) fn rate(&self, default: Rate) -> Rate {
        let own = self.grants.iter().filter(|grant| grant.interval.is_some() || grant.burst.is_some());
        own.map(|grant| grant.rate(default)).min_by_key(|rate| rate.interval).unwrap_or(default)
    }

    /// What becomes of its problems when it goes silent: the last grant that sets it decides.
    pub(super) fn on_stale(&self) -> OnStale {
        self.grants.iter().rev().find_map(|grant| grant.on_stale).unwrap_or_default()
    }
}

impl Grant {
    fn is_of_everything(&self) -> bool {
        self.conditions == Types::All && self.reasons.is_none() && self.events
    }

    fn takes(&self, reason: &Name) -> bool {
        self.reasons.as_ref().is_none_or(|reasons| reasons.contains(reason))
    }

    fn rate(&self, default: Rate) -> Rate {
        let interval = self.interval.unwrap_or(default.interval);
        let lasting = (Duration::from_secs(BURST_SECS.into()).as_nanos() / interval.as_nanos().max(1))
            .try_into()
            .unwrap_or(u32::MAX);
        Rate { interval, burst: self.burst.unwrap_or(default.burst.max(lasting)) }
    }
}

/// Counts are withdrawn by an empty account, which every peer may send.
fn counts(report: &Status) -> bool {
    report.hardware.as_ref().is_some_and(|counted| !counted.is_empty())
}

fn push_new(names: &mut Vec<Name>, name: &Name) {
    if names.len() < NAMED_LIMIT && !names.contains(name) {
        names.push(name.clone());
    }
}

#[cfg(test)]
mod tests;
