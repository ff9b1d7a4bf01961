//! A monitor without a source: reports to the ledger whether the agent's state can be saved.

use std::{path::PathBuf, sync::Arc, time::Duration};

use nodewell_faults::message;
use nodewell_ledger::DaemonReport;
use nodewell_model::{Action, BootId, Finding, FindingKind, Name, Origin, RequiredProof, Severity, view::DaemonState};

use crate::{
    monitors::ledger_sender::{LedgerSender, Report},
    runtime::clock,
    store::{Corruption, SaveError, Store, StoreState},
};

/// Its name among the monitors.
pub const NAME: &str = "agent-state";
pub(crate) const CONDITION: &str = "AgentStateUnwritable";
/// The first look at the file takes milliseconds; one that takes longer than this is reported by the store itself.
const FIRST_LOOK: Duration = Duration::from_secs(5);
/// Claims of an earlier run may come out of the file only after the condition was reported as healthy.
const REPEAT_AFTER: Duration = Duration::from_secs(5);

/// Reports until it is dropped.
pub async fn run(store: Store, directory: PathBuf, ledger_sender: LedgerSender) {
    let mut monitor = StateMonitor::new(directory, ledger_sender);
    monitor.report(DaemonState::Starting).await;
    let mut states = store.watch();
    // Before the file was tried nothing is known of it.
    let _ = store.load(&[], FIRST_LOOK).await;
    monitor.report(DaemonState::Running).await;
    loop {
        let state = states.borrow_and_update().clone();
        monitor.look(&state).await;
        tokio::select! {
            Ok(()) = states.changed() => {}
            () = tokio::time::sleep(REPEAT_AFTER), if monitor.repeat_healthy => monitor.clear_all().await,
        }
    }
}

struct StateMonitor {
    ledger_sender: LedgerSender,
    directory: String,
    /// This run, for the origins of what it reports.
    run: (BootId, u64),
    sequence: u64,
    /// What was reported last; at first nothing.
    reported: Option<Option<SaveError>>,
    corruption: Option<Corruption>,
    /// The healthy state is to be reported again.
    repeat_healthy: bool,
}

impl StateMonitor {
    fn new(directory: PathBuf, ledger_sender: LedgerSender) -> Self {
        let now = clock::now().wall.as_nanosecond();
        let run = (clock::boot_id().unwrap_or_default(), u64::try_from(now).unwrap_or_default());
        let directory = directory.display().to_string();
        Self { ledger_sender, directory, run, sequence: 0, reported: None, corruption: None, repeat_healthy: false }
    }

    async fn report(&self, state: DaemonState) {
        let report = DaemonReport {
            name: Arc::from(NAME),
            state,
            reason: None,
            message: String::new(),
            watches: vec![Name::fixed(CONDITION)],
            ttl: None,
            records: 0,
            lost: 0,
        };
        self.ledger_sender.send(Report::Daemon(Box::new(report))).await;
    }

    async fn look(&mut self, state: &StoreState) {
        if state.corruption != self.corruption {
            self.corruption.clone_from(&state.corruption);
            self.emit_corruption().await;
        }
        if self.reported.as_ref().is_some_and(|reported| reason(reported) == reason(&state.save_error)) {
            return;
        }
        self.reported = Some(state.save_error.clone());
        match &state.save_error {
            Some(save_error) => self.raise(save_error).await,
            None => self.clear_all().await,
        }
        self.repeat_healthy = state.save_error.is_none();
    }

    /// The new problem first: between two of them the condition is not healthy.
    async fn raise(&mut self, save_error: &SaveError) {
        let action = match save_error.reason.as_str() {
            "StateMissing" | "StateInUse" => Action::CheckConfiguration,
            _ => Action::CheckFilesystem,
        };
        let raised = self.finding(FindingKind::Raise, save_error.reason.clone(), save_error.message.clone());
        self.send(Finding { action: Some(action), severity: Severity::Error, ..raised }).await;
        self.clear_all_but(Some(&save_error.reason), &message("AgentStateUnwritable/ended-other", &[])).await;
    }

    async fn clear_all(&mut self) {
        self.repeat_healthy = false;
        self.clear_all_but(None, &message("AgentStateUnwritable/ended", &[])).await;
    }

    /// What is not claimed needs no clear, and one more does nothing.
    async fn clear_all_but(&mut self, but: Option<&Name>, evidence: &str) {
        for reason in SaveError::REASONS.into_iter().map(Name::fixed).filter(|reason| Some(reason) != but) {
            let cleared = self.finding(FindingKind::Clear, reason, evidence.to_owned());
            self.send(cleared).await;
        }
    }

    /// An Event: the file is created again at once, nothing lasts but the loss.
    async fn emit_corruption(&mut self) {
        let Some(message) = self.corruption.as_ref().map(|corruption| corruption.message.clone()) else { return };
        let event = self.finding(FindingKind::Raise, Name::fixed("StateCorrupt"), message);
        self.send(Finding { condition: None, ..event }).await;
    }

    async fn send(&self, finding: Finding) {
        self.ledger_sender.send(Report::Finding(Box::new(finding))).await;
    }

    fn finding(&mut self, kind: FindingKind, reason: Name, message: String) -> Finding {
        self.sequence += 1;
        let now = clock::now().wall;
        Finding {
            source: Arc::from(NAME),
            kind,
            condition: Some(Name::fixed(CONDITION)),
            reason,
            subject: Some(self.directory.clone()),
            severity: Severity::Warn,
            message,
            time: now,
            last_time: now,
            count: 1,
            origin: Origin::Agent { boot_id: self.run.0, started_ns: self.run.1, sequence: self.sequence },
            boot_id: clock::boot_id(),
            ends_after_quiet: None,
            ends_at_boot: false,
            action: None,
            required_proof: RequiredProof::None,
            test: false,
        }
    }
}

fn reason(save_error: &Option<SaveError>) -> Option<&Name> {
    save_error.as_ref().map(|save_error| &save_error.reason)
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::Receiver;

    use super::*;
    use crate::store::StoreOptions;

    /// The next finding of this kind, of this reason if one is named.
    async fn next(reports: &mut Receiver<Report>, kind: FindingKind, of: Option<&str>) -> Finding {
        let wait = async {
            loop {
                if let Report::Finding(finding) = reports.recv().await.unwrap()
                    && finding.kind == kind
                    && of.is_none_or(|of| finding.reason.as_str() == of)
                {
                    return *finding;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(30), wait).await.unwrap()
    }

    #[tokio::test]
    async fn a_save_error_is_raised_and_cleared_when_it_is_over() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("lib/nodewell");
        let store = Store::open(StoreOptions { directory: directory.clone() }).unwrap();
        let (ledger_sender, mut reports) = LedgerSender::channel();
        let watched = run(store, directory.clone(), ledger_sender);
        let seen = async {
            let raised = next(&mut reports, FindingKind::Raise, None).await;
            assert_eq!(raised.reason.as_str(), "StateMissing");
            assert_eq!(raised.subject.as_deref(), directory.to_str());
            std::fs::create_dir_all(&directory).unwrap();
            next(&mut reports, FindingKind::Clear, Some("StateMissing")).await
        };
        tokio::select! {
            () = watched => unreachable!("it reports for ever"),
            cleared = seen => assert_eq!(cleared.condition.unwrap().as_str(), CONDITION),
        }
    }

    #[tokio::test]
    async fn a_damaged_file_is_an_event() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("state.db"), "not a database".repeat(1000)).unwrap();
        let store = Store::open(StoreOptions { directory: directory.path().to_owned() }).unwrap();
        let (ledger_sender, mut reports) = LedgerSender::channel();
        tokio::select! {
            () = run(store, directory.path().to_owned(), ledger_sender) => unreachable!("it reports for ever"),
            raised = next(&mut reports, FindingKind::Raise, None) => {
                assert_eq!((raised.reason.as_str(), raised.condition), ("StateCorrupt", None));
            }
        }
    }
}
