//! Rows become a ledger again.

use std::sync::Arc;

use nodewell_model::{Mute, MuteKey, Name, ProblemKey, Row, Table, view::DaemonState};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    ACK, ClaimKey, DEPARTED, FALSE_POSITIVES, MUTE, RUN, SavedCondition, SavedDeparted, SavedRun, json, mute_row_key,
    newer::is_json, parsed,
};
use crate::{
    Ledger, Now,
    acks::HeldAck,
    claim::{Claim, Claimant, TEST_LASTS},
    daemon::Daemon,
    reporter::{DEPARTED_LIMIT, FORGOTTEN_AFTER},
    timers::{Due, Timers},
    unreported::Unreported,
};

/// What came of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoadedRows {
    /// Claims that hold their conditions again.
    pub claims: usize,
    /// Rows that no version has written. They are struck from the store.
    pub unreadable: usize,
    /// Rows that this version does not understand. They stay for the one that does.
    pub left: usize,
    /// They are of another boot.
    pub rebooted: bool,
}

impl Ledger {
    /// Loads rows of an earlier run. What the ledger has learned itself meanwhile stands beside it: nothing that was
    /// wrong is well because the agent restarted, or because its disk came late. After a reboot, problems that end at
    /// boot end, tests end, quiet times count by the wall clock. Daemons have to report first: a monitor of ours
    /// reports at once that it starts, an external one has its ttl to come again.
    pub fn load(&mut self, rows: Vec<Row>, now: Now) -> LoadedRows {
        let mut taken = LoadedRows::default();
        let run = rows.iter().find(|row| row.table == Table::Ledger && row.key == RUN);
        let run: Option<SavedRun> = run.and_then(|row| parsed(row.value.as_deref()?));
        taken.rebooted = run.is_some_and(|run| self.run.boot_id.is_none() || run.boot_id != self.run.boot_id);
        self.newer.note_version(run.map(|run| run.newest).unwrap_or_default());
        let muted: Vec<MuteKey> = rows.iter().filter_map(muted_by).collect();
        for Row { table, key, value } in rows {
            let value = value.unwrap_or_default();
            if self.load_row(table, &key, &value, &mut taken, now).is_some() {
                continue;
            }
            if is_json(&value) {
                taken.left += 1;
                self.newer.leave(table, key, value);
            } else {
                taken.unreadable += 1;
                self.dirty.unwanted(table, key);
            }
        }
        if let Some(run) = run {
            self.events.last_id = self.events.last_id.max(run.last_event_id);
            self.events.dropped += run.events_dropped;
        }
        self.forget_doubts();
        self.index_claims();
        self.timers = self.deadlines();
        self.resume_mutes(&muted, now);
        self.resume_acks(now);
        self.end_other_boots(now);
        self.refresh_all(now.wall);
        taken
    }

    /// `None` if the row contains nothing that can be understood, or is a newer version's alone.
    fn load_row(&mut self, table: Table, key: &str, value: &str, taken: &mut LoadedRows, now: Now) -> Option<()> {
        match table {
            Table::Claims => {
                let claim_key: ClaimKey = parsed(key)?;
                self.may_load(claim_key.0.as_str())?;
                let claim = self.understood(table, key, value)?;
                taken.claims += usize::from(self.load_claim(claim_key, claim, taken.rebooted, now));
            }
            Table::Conditions => {
                self.may_load(key)?;
                let saved = self.understood(table, key, value)?;
                self.load_condition(key, saved, taken.rebooted);
            }
            Table::Daemons => {
                let saved = self.understood(table, key, value)?;
                self.load_daemon(key, saved, taken.rebooted, now);
            }
            Table::Totals => {
                let (name, count) = (Name::new(key).ok()?, parsed(value)?);
                let total = self.totals.by_reason.entry(name.clone()).or_default();
                // What was counted meanwhile is not in the row.
                let is_more = *total > 0;
                *total = total.saturating_add(count);
                if is_more {
                    self.dirty.total(&name);
                }
            }
            Table::Ledger => self.load_own(key, value)?,
            Table::Cursors | Table::Events | Table::Series => return None,
        }
        Some(())
    }

    fn load_own(&mut self, key: &str, value: &str) -> Option<()> {
        let table = Table::Ledger;
        if key == RUN {
            self.understood::<SavedRun>(table, key, value)?;
        } else if key == DEPARTED {
            self.load_departed(parsed(value)?);
        } else if key == FALSE_POSITIVES {
            let earlier = self.understood(table, key, value)?;
            // What was counted meanwhile is not in the row.
            if !self.false_positives.is_empty() {
                self.dirty.false_positives();
            }
            self.false_positives.add(earlier);
        } else if key.starts_with(MUTE) {
            let mute: Mute = parsed(value)?;
            if key != mute_row_key(&mute.key) {
                // What its key says beyond this narrows it: read without, it would mute more than was meant.
                if self.newer.has_written() {
                    return None;
                }
                self.dirty.unwanted(table, key.to_owned());
            }
            self.newer.note(table, key, value, &mute);
            self.load_mute(mute);
        } else {
            let named = key.strip_prefix(ACK)?;
            let problem: ProblemKey = parsed(named)?;
            // A newer version's key names another problem than what is read of it.
            if json(&problem).as_deref() != Some(named) {
                return None;
            }
            self.may_load(problem.condition.as_str())?;
            let held = self.understood(table, key, value)?;
            self.load_ack(problem, held);
        }
        Some(())
    }

    /// What a row says; what this version does not understand of it is written again with it.
    fn understood<T: DeserializeOwned + Serialize>(&mut self, table: Table, key: &str, value: &str) -> Option<T> {
        let read: T = parsed(value)?;
        self.newer.note(table, key, value, &read);
        Some(read)
    }

    /// Rows of a condition that has left the catalogue go with it; those of one that only a newer version may know
    /// stay.
    fn may_load(&self, condition: &str) -> Option<()> {
        (self.states.contains_key(condition) || !self.newer.has_written()).then_some(())
    }

    /// Whether it is held again: a condition may have left the catalogue.
    fn load_claim(&mut self, key: ClaimKey, mut claim: Claim, rebooted: bool, now: Now) -> bool {
        let (condition, reason, subject, source, test) = key;
        let (key, claimant) = (ProblemKey { condition, reason, subject }, Claimant { source, test });
        if rebooted {
            claim.rebase(claimant.test, now);
        }
        claim.bound(claimant.test, now);
        // It is written again: merged with what came meanwhile, or struck out.
        self.dirty.claim(&key, &claimant);
        let Some(state) = self.states.get_mut(&key.condition) else { return false };
        state.load_claim(&key, &claimant, claim);
        true
    }

    fn load_condition(&mut self, name: &str, saved: SavedCondition, rebooted: bool) {
        let state = Name::new(name).ok().and_then(|name| self.states.get_mut(&name));
        let Some(state) = state else { return self.dirty.unwanted(Table::Conditions, name.to_owned()) };
        // After a boot everything starts.
        state.load_transition(saved.transition, saved.starting_since.filter(|_| !rebooted));
        // What was taken of it before this row came is less.
        state.saved = None;
        for reason in saved.reasons {
            state.tallies.entry(reason).or_default();
        }
    }

    /// What was said of the problem meanwhile is newer, and of less: the claims of before were not there.
    fn load_ack(&mut self, problem: ProblemKey, earlier: HeldAck) {
        let Some(state) = self.states.get_mut(&problem.condition) else { return self.dirty.ack(&problem) };
        match state.acks.get_mut(&problem) {
            Some(held) => {
                held.add(earlier);
                self.dirty.ack(&problem);
            }
            None => _ = state.acks.insert(problem, earlier),
        }
    }

    /// Of a problem that is over nothing is said any more; and what was claimed before these rows came may be worse
    /// than what the person saw.
    fn resume_acks(&mut self, now: Now) {
        let over: Vec<ProblemKey> = self.states.values_mut().flat_map(|state| state.settle_loaded_acks()).collect();
        over.iter().for_each(|problem| self.dirty.ack(problem));
        let held: Vec<ProblemKey> = self.states.values().flat_map(|state| state.acks.keys().cloned()).collect();
        held.iter().for_each(|problem| self.review_ack(problem, now));
    }

    /// A daemon that has reported meanwhile has newer state.
    fn load_daemon(&mut self, name: &str, mut saved: Daemon, rebooted: bool, now: Now) {
        if self.daemons.contains_key(name) {
            return;
        }
        let name: Arc<str> = Arc::from(name);
        if rebooted {
            (saved.state, saved.reason, saved.message) = (DaemonState::Starting, None, String::new());
            // Boot times of another boot mean nothing in this one.
            self.dirty.daemon(&name);
        }
        if let Some(reporter) = saved.reporter.as_mut().filter(|_| rebooted) {
            reporter.unreported = Unreported::since_boot(&saved.watches);
        }
        let lingers = saved.reporter.as_mut().and_then(|reporter| reporter.lingers.as_mut());
        let lingers = lingers.map(|linger| {
            *linger = linger.loaded(rebooted, now);
            self.dirty.daemon(&name);
            linger.until
        });
        // It may have reported since without a write to the disk.
        let expected = saved.silent_since.map(|_| FORGOTTEN_AFTER).or(saved.ttl);
        saved.deadline = lingers.or(expected.map(|span| now.after(span)));
        self.daemons.insert(name, saved);
    }

    fn load_departed(&mut self, saved: SavedDeparted) {
        if !self.departed.is_empty() {
            self.dirty.departed();
        }
        // What has departed meanwhile did so later, and stays known for longer.
        for (name, ids) in saved.into_iter().rev() {
            let is_known = self.departed.iter().any(|(known, _)| *known == name);
            if !is_known && self.departed.len() < DEPARTED_LIMIT {
                self.departed.push_front((name, ids));
            }
        }
    }

    /// What external daemons claim, found by subject: it is made from the conditions, not stored twice.
    fn index_claims(&mut self) {
        for (key, problem) in self.states.values().flat_map(|state| &state.problems) {
            for claimant in problem.claims.keys().filter(|claimant| !claimant.test) {
                let daemon = self.daemons.get_mut(&claimant.source);
                if let Some(reporter) = daemon.and_then(|daemon| daemon.reporter.as_mut()) {
                    reporter.hold(key);
                }
            }
        }
    }

    pub(crate) fn deadlines(&self) -> Timers {
        let mut timers = Timers::default();
        for (key, problem) in self.states.values().flat_map(|state| &state.problems) {
            for (who, claim) in &problem.claims {
                timers.reset(Due::Claim(key.clone(), who.clone()), None, claim.deadline);
            }
        }
        for (name, daemon) in &self.daemons {
            timers.reset(Due::Daemon(Arc::clone(name)), None, daemon.deadline);
            timers.reset(Due::Unreported(Arc::clone(name)), None, daemon.unreported_due());
        }
        timers
    }

    fn end_other_boots(&mut self, now: Now) {
        let over = self.claims_where(|_, claim| claim.ends_at_boot && self.run.is_other_boot(claim.boot_id));
        for (key, claimant) in over {
            let ending =
                self.conclusion(&claimant.source, nodewell_faults::message("ProblemEnded/ended-reboot", &[]), now);
            self.withdraw(&key, &claimant, &ending);
        }
    }
}

/// What a row mutes, if it is a mute's.
fn muted_by(row: &Row) -> Option<MuteKey> {
    let is_mute = row.table == Table::Ledger && row.key.starts_with(MUTE);
    row.value.as_deref().filter(|_| is_mute).and_then(parsed::<Mute>).map(|mute| mute.key)
}

impl Claim {
    /// Boot times of another boot mean nothing in this one.
    fn rebase(&mut self, test: bool, now: Now) {
        let quiet = self.ends_after_quiet.filter(|_| !test);
        let left = quiet.and_then(|quiet| now.left_of(quiet, self.last_seen)).unwrap_or_default();
        self.deadline = self.deadline.map(|_| now.after(left));
    }

    /// An older version may have left the row as it was through other boots: no quiet time is longer than a whole one.
    fn bound(&mut self, test: bool, now: Now) {
        let longest = if test { TEST_LASTS } else { self.ends_after_quiet.unwrap_or_default() };
        self.deadline = self.deadline.map(|deadline| deadline.min(now.after(longest)));
    }
}
