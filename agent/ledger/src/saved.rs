//! The ledger as rows that a store saves: only what changed is made again. A ledger loads rows at its start or, where
//! the disk was away, whenever they come.

mod load;
pub(crate) mod newer;

use std::{collections::VecDeque, sync::Arc};

pub use load::LoadedRows;

use jiff::Timestamp;
use newer::Version;
use nodewell_model::{BootId, MuteKey, Name, ProblemKey, Row, Table};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{Ledger, claim::Claimant, condition::Transition, dirty::Dirty, reporter::Ids};

/// The tables of which the ledger owns every row.
pub const TABLES: [Table; 5] = [Table::Claims, Table::Conditions, Table::Daemons, Table::Totals, Table::Ledger];

/// The keys in [`Table::Ledger`].
const RUN: &str = "run";
const DEPARTED: &str = "departed";
/// Before the key of a mute, of which each has its row.
const MUTE: &str = "mute ";
/// Before the key of a problem that people called a false positive.
const ACK: &str = "ack ";
const FALSE_POSITIVES: &str = "false-positives";

/// The key of a claim's row.
type ClaimKey = (Name, Name, Option<String>, Arc<str>, bool);

/// A condition's row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct SavedCondition {
    #[serde(flatten)]
    transition: Transition,
    /// Since when it is Unknown because a watcher starts, which is no transition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    starting_since: Option<Timestamp>,
    /// Reasons that held it once, for the gauges.
    reasons: Vec<Name>,
}

/// The row of the ledger's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct SavedRun {
    /// Boot times in all rows are of this boot.
    boot_id: Option<BootId>,
    last_event_id: u64,
    events_dropped: u64,
    /// The newest version that has written any row.
    #[serde(default)]
    newest: Version,
}

/// The row of daemons that reported a clean stop.
type SavedDeparted = VecDeque<(Arc<str>, Ids)>;

impl Ledger {
    /// The rows that differ from those that were taken before; the first time, everything there is.
    pub fn take_rows(&mut self) -> Vec<Row> {
        let mut rows = Vec::new();
        let dirty = std::mem::take(&mut self.dirty);
        rows.extend(dirty.unwanted.into_iter().map(|(table, key)| Row { table, key, value: None }));
        rows.extend(dirty.claims.iter().map(|(key, claimant)| self.claim_row(key, claimant)));
        rows.extend(dirty.daemons.iter().map(|name| self.daemon_row(name)));
        rows.extend(dirty.totals.iter().map(|name| self.total_row(name)));
        if dirty.departed {
            let value = Some(&self.departed).filter(|departed| !departed.is_empty()).and_then(json);
            rows.push(Row { table: Table::Ledger, key: DEPARTED.to_owned(), value });
        }
        rows.extend(dirty.mutes.iter().map(|key| self.mute_row(key)));
        rows.extend(dirty.acks.iter().map(|problem| self.ack_row(problem)));
        if dirty.false_positives {
            let value = json(&self.false_positives);
            rows.push(Row { table: Table::Ledger, key: FALSE_POSITIVES.to_owned(), value });
        }
        self.dirty.marks = dirty.marks;
        self.condition_rows(&mut rows);
        self.run_row(&mut rows);
        self.newer.complete(&mut rows);
        rows
    }

    /// There is no store that saves rows.
    pub fn skip_rows(&mut self) {
        self.dirty = Dirty { marks: self.dirty.marks, ..Dirty::default() };
    }

    /// Every row, as if none had been taken.
    pub fn all_rows(&mut self) -> Vec<Row> {
        for (key, problem) in self.states.values().flat_map(|state| &state.problems) {
            problem.claims.keys().for_each(|claimant| self.dirty.claim(key, claimant));
        }
        let external = self.daemons.iter().filter(|(_, daemon)| daemon.reporter.is_some());
        external.for_each(|(name, _)| self.dirty.daemon(name));
        self.totals.by_reason.keys().for_each(|name| self.dirty.total(name));
        self.dirty.departed();
        self.mutes.saved().for_each(|mute| self.dirty.mute(&mute.key));
        self.states.values().flat_map(|state| state.acks.keys()).for_each(|problem| self.dirty.ack(problem));
        if !self.false_positives.is_empty() {
            self.dirty.false_positives();
        }
        self.states.values_mut().for_each(|state| state.saved = None);
        self.saved_run = None;
        let mut rows = self.take_rows();
        rows.extend(self.newer.rows());
        rows
    }

    fn claim_row(&self, key: &ProblemKey, claimant: &Claimant) -> Row {
        let ProblemKey { condition, reason, subject } = key;
        let named = (condition, reason, subject, &claimant.source, claimant.test);
        let value = self.held(key, claimant).and_then(json);
        Row { table: Table::Claims, key: json(&named).unwrap_or_default(), value }
    }

    /// Our own monitors report what they watch as soon as they start.
    fn daemon_row(&self, name: &str) -> Row {
        let external = self.daemons.get(name).filter(|daemon| daemon.reporter.is_some());
        Row { table: Table::Daemons, key: name.to_owned(), value: external.and_then(json) }
    }

    fn total_row(&self, name: &Name) -> Row {
        Row { table: Table::Totals, key: name.to_string(), value: self.totals.by_reason.get(name).and_then(json) }
    }

    /// Those of the configuration come from there again, and what is over is no more.
    fn mute_row(&self, key: &MuteKey) -> Row {
        let saved = self.mutes.saved().find(|mute| mute.key == *key);
        Row { table: Table::Ledger, key: mute_row_key(key), value: saved.and_then(json) }
    }

    fn ack_row(&self, problem: &ProblemKey) -> Row {
        let held = self.states.get(&problem.condition).and_then(|state| state.acks.get(problem));
        let key = format!("{ACK}{}", json(problem).unwrap_or_default());
        Row { table: Table::Ledger, key, value: held.and_then(json) }
    }

    /// There are few conditions: each is compared with what was taken of it.
    fn condition_rows(&mut self, rows: &mut Vec<Row>) {
        for (name, state) in &mut self.states {
            let (transition, starting_since) = (state.before_start.unwrap_or(state.transition), state.starting_since());
            let saved = Some((transition, starting_since, state.reasons_version));
            if state.saved == saved {
                continue;
            }
            state.saved = saved;
            let reasons = state.tallies.keys().cloned().collect();
            let value = json(&SavedCondition { transition, starting_since, reasons });
            rows.push(Row { table: Table::Conditions, key: name.to_string(), value });
        }
    }

    fn run_row(&mut self, rows: &mut Vec<Row>) {
        let (last_event_id, events_dropped) = (self.events.last_id, self.events.dropped);
        let run = SavedRun { boot_id: self.run.boot_id, last_event_id, events_dropped, newest: self.newer.newest() };
        if self.saved_run != Some((last_event_id, events_dropped)) {
            self.saved_run = Some((last_event_id, events_dropped));
            rows.push(Row { table: Table::Ledger, key: RUN.to_owned(), value: json(&run) });
        }
    }
}

fn mute_row_key(key: &MuteKey) -> String {
    format!("{MUTE}{}", json(key).unwrap_or_default())
}

/// Plain values become JSON; what cannot would not be saved, and the tests see to it that all can.
fn json<T: Serialize>(value: &T) -> Option<String> {
    serde_json::to_string(value).ok()
}

fn parsed<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_str(text).ok()
}
