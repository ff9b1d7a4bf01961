//! Acts on decisions: writes down, collects, asks systemd, reports.

use std::{fmt::Display, time::Duration};

use nodewell_checks::{
    repair::{Decision, History, Outcome, RepairMethod, UnitProblem, UnitRepair},
    systemd::{ActiveState, BusError, KillWhom, Manager},
};
use nodewell_client::ClientError;
use nodewell_faults::message;
use nodewell_message::MessageArgs;
use tokio::time::{Instant, sleep};

use super::{
    Setup,
    evidence::{self, Case},
    history::HistoryFile,
    recorder::{EventRecorder, way, words},
    watch,
};

/// For the program to write down what it was asked for.
const AFTER_DUMP: Duration = Duration::from_secs(2);
/// A unit's own stop and start may each take 90 s by systemd's default.
const JOB_WITHIN: Duration = Duration::from_secs(200);
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Carries out one helper's repairs.
pub(super) struct RepairExecutor {
    file: HistoryFile,
    recorder: EventRecorder,
    /// The first round has reported what an earlier run gave up.
    all_reported: bool,
}

impl RepairExecutor {
    pub(super) fn new(setup: &Setup, file: HistoryFile) -> Self {
        Self { file, recorder: EventRecorder::new(&setup.client), all_reported: false }
    }

    pub(super) fn history(&self) -> &History {
        &self.file.history
    }

    /// Does what was decided.
    pub(super) async fn execute(
        &mut self,
        setup: &Setup,
        unit: &UnitRepair,
        decision: Decision,
        problem: Option<&UnitProblem>,
    ) {
        self.recorder.sees();
        match (decision, problem) {
            (Decision::Nothing, _) | (_, None) => self.report_healthy(unit),
            (Decision::Hold(hold), Some(problem)) => {
                let over = self.file.history.has_given_up(&unit.unit).then_some(problem);
                self.recorder.given_up(unit, over);
                self.recorder.hold(unit, Some(hold));
            }
            (Decision::GiveUp, Some(problem)) => self.give_up(unit, problem),
            (Decision::Repair, Some(problem)) => self.repair(setup, unit, problem).await,
        }
    }

    /// Every unit was looked at: what an earlier run gave up has been reported again.
    pub(super) fn round_is_over(&mut self) {
        if !std::mem::replace(&mut self.all_reported, true) {
            self.recorder.all_reported();
        }
    }

    fn report_healthy(&mut self, unit: &UnitRepair) {
        self.recorder.hold(unit, None);
        self.recorder.given_up(unit, None);
        if self.file.history.is_healthy(&unit.unit) {
            // It comes too late for nothing: at worst it is given up once more.
            let _ = self.file.write();
        }
    }

    fn give_up(&mut self, unit: &UnitRepair, problem: &UnitProblem) {
        if !self.file.history.give_up(&unit.unit, &watch::now()) {
            return;
        }
        if let Err(error) = self.file.write() {
            tracing::warn!(%error, "cannot write down that a unit was given up");
        }
        let args: &[(&str, &dyn Display)] = &[
            ("unit", &unit.unit),
            ("limit", &unit.max_attempts),
            ("window", &words(unit.window)),
            ("reason", &problem.reason),
            ("problem", &problem.message),
        ];
        self.recorder.event("RepairGivenUp", &unit.unit, args);
        self.recorder.given_up(unit, Some(problem));
    }

    async fn repair(&mut self, setup: &Setup, unit: &UnitRepair, problem: &UnitProblem) {
        let now = watch::now();
        let nth = self.file.history.count(&unit.unit, unit.window, &now) + 1;
        self.file.history.begin(&unit.unit, &now);
        if let Err(error) = self.file.write() {
            let args: &[(&str, &dyn Display)] = &[("unit", &unit.unit), ("error", &error)];
            return self.recorder.event("RepairImpossible", &unit.unit, args);
        }
        self.recorder.status(&format!("repairs {}", unit.unit));
        let collected = self.collect(setup, unit, problem).await;
        let (method, window) = (way(unit.way), words(unit.window));
        let mut args: Vec<(&str, &dyn Display)> = vec![
            ("unit", &unit.unit),
            ("method", &method),
            ("nth", &nth),
            ("limit", &unit.max_attempts),
            ("window", &window),
            ("reason", &problem.reason),
            ("problem", &problem.message),
        ];
        let key = match &collected {
            Ok(file) => {
                args.push(("file", file));
                "RepairStarted"
            }
            Err(error) => {
                args.push(("error", error));
                "RepairStarted/not-collected"
            }
        };
        self.recorder.event(key, &unit.unit, &args);
        let outcome = act(&setup.manager, unit).await;
        self.report(unit, &outcome);
        self.file.history.end(outcome);
        // The attempt itself is written down already.
        let _ = self.file.write();
    }

    async fn collect(&self, setup: &Setup, unit: &UnitRepair, problem: &UnitProblem) -> Result<String, String> {
        if let Some(signal) = unit.dump {
            match setup.manager.kill(&unit.unit, KillWhom::Main, signal.number()).await {
                Ok(()) => sleep(AFTER_DUMP).await,
                Err(error) => tracing::info!(unit = unit.unit, %error, "no dump before the repair"),
            }
        }
        let state = setup.manager.unit(&unit.unit).await;
        let case = Case { unit: unit.unit.clone(), problem: problem.clone(), state, journal: setup.journal.clone() };
        evidence::collect(self.file.folder(), case).await.map(|file| file.display().to_string())
    }

    fn report(&mut self, unit: &UnitRepair, outcome: &Outcome) {
        match outcome {
            Outcome::Done => self.recorder.event("RepairDone", &unit.unit, &[("unit", &unit.unit)]),
            Outcome::Failed { message } => {
                self.recorder.event("RepairFailed", &unit.unit, &[("unit", &unit.unit), ("error", message)]);
            }
        }
    }

    pub(super) fn blind(&mut self, error: &ClientError) {
        self.recorder.blind(&error.to_string());
    }

    pub(super) async fn finish(&self) {
        self.recorder.finish().await;
    }
}

/// Asks systemd, and waits for what comes of it.
async fn act(manager: &Manager, unit: &UnitRepair) -> Outcome {
    let before = manager.unit(&unit.unit).await.ok().and_then(|unit| unit.main_pid);
    let asked = match unit.way {
        RepairMethod::Restart => manager.restart(&unit.unit).await.map(drop),
        RepairMethod::Kill(signal) => manager.kill(&unit.unit, KillWhom::Main, signal.number()).await,
    };
    match asked {
        Ok(()) => wait(manager, unit, before).await,
        Err(error) => failed(&error),
    }
}

/// Until it is active without a job, by another process than before.
async fn wait(manager: &Manager, unit: &UnitRepair, before: Option<u32>) -> Outcome {
    let end = Instant::now() + JOB_WITHIN;
    let mut last = "systemd did not report its state".to_owned();
    while Instant::now() < end {
        sleep(LOOK_AGAIN).await;
        match manager.unit(&unit.unit).await {
            Ok(now) if now.has_job => last = "its job is not done".to_owned(),
            Ok(now) if now.active == ActiveState::Active && (before.is_none() || now.main_pid != before) => {
                return Outcome::Done;
            }
            Ok(now) if now.active == ActiveState::Failed => {
                let result = now.result.unwrap_or_default();
                return Outcome::Failed { message: message("RepairFailed/figure-again", &[("result", &result)]) };
            }
            Ok(now) => last = now.sub,
            Err(error) => last = error.to_string(),
        }
    }
    let args: MessageArgs<'_> = &[("limit", &words(JOB_WITHIN)), ("state", &last)];
    Outcome::Failed { message: message("RepairFailed/figure-late", args) }
}

fn failed(error: &BusError) -> Outcome {
    Outcome::Failed { message: error.to_string() }
}
