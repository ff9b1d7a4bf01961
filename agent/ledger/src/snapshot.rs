//! The ledger's state as values that a store can keep, and a ledger made from them again.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use nodewell_model::{BootId, EventRecord, Name, ProblemKey, view::DaemonState};
use serde::{Deserialize, Serialize};

use crate::{
    Ledger, Now,
    claim::{Claim, Claimant},
    daemon::Daemon,
    events::EventQueue,
    page::Standing,
    reporter::Ids,
    timers::{Due, Timers},
};

/// Everything that outlives a run of the agent. Opaque: only serialised, kept and given back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Boot times in here are of this boot.
    boot_id: Option<BootId>,
    /// Events that were not taken yet.
    events: VecDeque<EventRecord>,
    last_event_id: u64,
    events_dropped: u64,
    /// Of origins that the ledger makes.
    sequence: u64,
    totals: BTreeMap<Name, u64>,
    conditions: Vec<KeptCondition>,
    daemons: BTreeMap<Arc<str>, Daemon>,
    departed: VecDeque<(Arc<str>, Ids)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct KeptCondition {
    condition: Name,
    standing: Standing,
    reasons: Vec<Name>,
    claims: Vec<(ProblemKey, Claimant, Claim)>,
}

impl Ledger {
    /// The state as it is. O(n).
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            boot_id: self.run.boot_id,
            events: self.events.waiting.clone(),
            last_event_id: self.events.last_id,
            events_dropped: self.events.dropped,
            sequence: self.run.sequence,
            totals: self.totals.clone(),
            conditions: self.kept_conditions(),
            daemons: self.daemons.clone(),
            departed: self.departed.clone(),
        }
    }

    fn kept_conditions(&self) -> Vec<KeptCondition> {
        let kept = self.pages.values().map(|page| KeptCondition {
            condition: page.spec.condition.clone(),
            standing: page.standing,
            reasons: page.tallies.keys().cloned().collect(),
            claims: (page.problems.iter())
                .flat_map(|(key, held)| {
                    held.claims.iter().map(|(who, claim)| (key.clone(), who.clone(), claim.clone()))
                })
                .collect(),
        });
        kept.collect()
    }

    /// An empty ledger takes a former one's state over. Conditions outside its own catalogue are left out. After a
    /// reboot, problems that end at boot end, tests end, quiet times count by the wall clock, and daemons have to
    /// speak first. Within a boot daemons keep their state too: the agent says at once that its own monitors start, and
    /// retires those it does not have any more.
    #[must_use]
    pub fn restore(mut self, kept: Snapshot, now: Now) -> Self {
        let same_boot = self.run.boot_id.is_some() && self.run.boot_id == kept.boot_id;
        let Snapshot { events, last_event_id, events_dropped, sequence, totals, conditions, daemons, departed, .. } =
            kept;
        self.events = EventQueue { waiting: events, last_id: last_event_id, dropped: events_dropped };
        (self.run.sequence, self.totals, self.daemons, self.departed) = (sequence, totals, daemons, departed);
        conditions.into_iter().for_each(|kept| self.take_over(kept));
        self.forget_doubts();
        self.index_claims();
        if !same_boot {
            self.rebase(now);
        }
        self.timers = self.deadlines();
        self.end_other_boots(now);
        self.settle_all(now.wall);
        self
    }

    /// What external daemons claim, found by subject: it is made from the pages, not kept twice.
    fn index_claims(&mut self) {
        for (key, problem) in self.pages.values().flat_map(|page| &page.problems) {
            for claimant in problem.claims.keys().filter(|claimant| !claimant.test) {
                let daemon = self.daemons.get_mut(&claimant.source);
                if let Some(reporter) = daemon.and_then(|daemon| daemon.reporter.as_mut()) {
                    reporter.held.insert((key.condition.clone(), key.subject.clone()), key.reason.clone());
                }
            }
        }
    }

    fn take_over(&mut self, kept: KeptCondition) {
        let Some(page) = self.pages.get_mut(&kept.condition) else { return };
        page.standing = kept.standing;
        for (key, who, claim) in kept.claims.into_iter().filter(|(key, ..)| key.condition == kept.condition) {
            page.claim(&key, &who, claim);
        }
        for reason in kept.reasons {
            page.tallies.entry(reason).or_default();
        }
    }

    /// Boot times of another boot mean nothing in this one.
    fn rebase(&mut self, now: Now) {
        let problems = self.pages.values_mut().flat_map(|page| page.problems.values_mut());
        for (who, claim) in problems.flat_map(|problem| &mut problem.claims) {
            let quiet = claim.quiet.filter(|_| !who.test);
            let left = quiet.and_then(|quiet| now.left_of(quiet, claim.last_seen)).unwrap_or_default();
            claim.deadline = claim.deadline.map(|_| now.after(left));
        }
        for daemon in self.daemons.values_mut() {
            daemon.state = DaemonState::Starting;
            (daemon.reason, daemon.message) = (None, String::new());
            daemon.deadline = daemon.ttl.map(|ttl| now.after(ttl));
        }
    }

    pub(crate) fn deadlines(&self) -> Timers {
        let mut timers = Timers::default();
        for (key, problem) in self.pages.values().flat_map(|page| &page.problems) {
            for (who, claim) in &problem.claims {
                timers.reset(Due::Claim(key.clone(), who.clone()), None, claim.deadline);
            }
        }
        for (name, daemon) in &self.daemons {
            timers.reset(Due::Daemon(Arc::clone(name)), None, daemon.deadline);
        }
        timers
    }

    fn end_other_boots(&mut self, now: Now) {
        let over = self.claims_where(|_, claim| claim.ends_at_boot && self.run.is_other_boot(claim.boot_id));
        for (key, claimant) in over {
            let ending = self.conclusion(&claimant.source, "the node was booted anew", now);
            self.withdraw(&key, &claimant, &ending);
        }
    }
}
