//! What operators see of repairs: Events, a condition while one was given up, a line of status.

use std::{collections::BTreeMap, fmt::Display, time::Duration};

use nodewell_checks::repair::{Decision, Hold, RepairMethod, UnitProblem, UnitRepair};
use nodewell_client::{Client, Discarded, Reporter, ReporterSettings};
use nodewell_faults::{message, reason};
use nodewell_model::{Condition, ConditionStatus, Event, Name, Severity};

use crate::runtime::{
    clock,
    notify::{self, NotifyState},
};

/// The problem daemon's name.
const SOURCE: &str = "repair";
const TTL: Duration = Duration::from_secs(90);
const LAST_REPORT: Duration = Duration::from_secs(1);
const FAILED: &str = "ServiceRepairFailed";
const GIVEN_UP: &str = "RepairGivenUp";

/// One helper's.
pub(super) struct EventRecorder {
    reporter: Reporter,
    /// What is held and why, by unit.
    held: BTreeMap<String, String>,
    /// Whether the unit was reported as given up.
    failed: BTreeMap<String, bool>,
    is_blind: bool,
}

impl EventRecorder {
    pub(super) fn new(client: &Client) -> Self {
        let settings = ReporterSettings { ttl: TTL, first_report_is_complete: false, ..ReporterSettings::new(SOURCE) };
        let discard =
            |discarded: Discarded| tracing::warn!(error = %discarded.error, "the agent does not take our report");
        Self {
            reporter: Reporter::start(client.clone(), settings, discard),
            held: BTreeMap::new(),
            failed: BTreeMap::new(),
            is_blind: false,
        }
    }

    /// An Event, with its severity as the catalogue has it: of the message `key` of the catalogue.
    pub(super) fn event(&self, key: &'static str, unit: &str, args: &[(&str, &dyn Display)]) {
        let name = key.split_once('/').map_or(key, |(reason, _)| reason);
        let message = message(key, args);
        let severity = reason::named(name).map_or(Severity::Warn, |known| known.severity);
        tracing::warn!(unit, reason = name, "{message}");
        let (timestamp, reason) = (clock::now().wall, Name::fixed(name));
        let subject = Some(unit.to_owned());
        self.reporter.event(Event { severity, timestamp, reason, message, subject, seen_by: None });
    }

    /// Whether nothing more will be tried for `unit`, and for what; `None`: it is well, or still has its tries.
    pub(super) fn given_up(&mut self, unit: &UnitRepair, over: Option<&UnitProblem>) {
        if self.failed.insert(unit.unit.clone(), over.is_some()) == Some(over.is_some()) {
            return;
        }
        let healthy = Condition {
            condition: Name::fixed(FAILED),
            status: ConditionStatus::False,
            transition: clock::now().wall,
            reason: Name::fixed("NoRepairGivenUp"),
            message: String::new(),
            subject: Some(unit.unit.clone()),
            severity: None,
            action: None,
        };
        self.reporter.set(over.map_or(healthy.clone(), |problem| failed(unit, problem, healthy)));
    }

    /// All that an earlier run gave up was reported again.
    pub(super) fn all_reported(&self) {
        self.reporter.all_reported();
    }

    /// Why nothing is done about `unit`; logged when the reason changes.
    pub(super) fn hold(&mut self, unit: &UnitRepair, hold: Option<Hold>) {
        let was_held = match hold {
            Some(hold) => {
                let kind = std::mem::discriminant(&hold);
                let words = format!("{kind:?}");
                let is_new = self.held.insert(unit.unit.clone(), words.clone()).as_ref() != Some(&words);
                if is_new {
                    tracing::info!(unit = unit.unit, "no repair: {hold}");
                    self.status(&format!("{}: no repair: {hold}", unit.unit));
                }
                return;
            }
            None => self.held.remove(&unit.unit),
        };
        if was_held.is_some() && self.held.is_empty() {
            self.status("nothing to repair");
        }
    }

    pub(super) fn status(&self, line: &str) {
        notify::notify(&[NotifyState::Status(line)]);
    }

    /// The agent does not answer; logged once.
    pub(super) fn blind(&mut self, why: &str) {
        if !std::mem::replace(&mut self.is_blind, true) {
            tracing::warn!(error = why, "waits for the agent; nothing is repaired without it");
            self.status(&format!("waits for the agent: {why}"));
        }
    }

    pub(super) fn sees(&mut self) {
        if std::mem::take(&mut self.is_blind) {
            self.status("nothing to repair");
        }
    }

    /// What is given up stays reported; what is well needs no withdrawal.
    pub(super) async fn finish(&self) {
        let _ = tokio::time::timeout(LAST_REPORT, self.reporter.flushed()).await;
    }
}

/// The condition `well`, which is not.
fn failed(unit: &UnitRepair, problem: &UnitProblem, healthy: Condition) -> Condition {
    let known = reason::named(GIVEN_UP);
    let args: &[(&str, &dyn Display)] =
        &[("limit", &unit.max_attempts), ("window", &words(unit.window)), ("problem", &problem.message)];
    Condition {
        status: ConditionStatus::True,
        reason: Name::fixed(GIVEN_UP),
        message: message("RepairGivenUp/condition", args),
        severity: known.map(|known| known.severity),
        action: known.map(|known| known.action),
        ..healthy
    }
}

/// One line of the plan.
pub(super) fn line(unit: &UnitRepair, decision: &Decision) -> String {
    let what = match decision {
        Decision::Nothing => "well".to_owned(),
        Decision::Hold(hold) => format!("not now: {hold}"),
        Decision::Repair => format!("would be repaired now: {}", way(unit.way)),
        Decision::GiveUp => "would be given up: it was repaired as often as it may be".to_owned(),
    };
    format!("{:<28} {what}", unit.unit)
}

/// The act, for people.
pub(super) fn way(way: RepairMethod) -> String {
    match way {
        RepairMethod::Restart => "restart".to_owned(),
        RepairMethod::Kill(signal) => format!("{} to its main process", signal.as_str()),
    }
}

/// `6 h`, `20 min`, `45 s`.
pub(super) fn words(time: Duration) -> String {
    match time.as_secs() {
        secs if secs >= 3600 && secs % 3600 == 0 => format!("{} h", secs / 3600),
        secs if secs >= 60 && secs % 60 == 0 => format!("{} min", secs / 60),
        secs => format!("{secs} s"),
    }
}
