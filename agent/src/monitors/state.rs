//! A monitor without a source: reports to the ledger whether the agent's state can be saved.

use std::{path::PathBuf, sync::Arc, time::Duration};

use nodewell_ledger::DaemonReport;
use nodewell_model::{Action, BootId, Finding, FindingKind, Guard, Name, Origin, Severity, view::DaemonState};

use crate::{
    monitors::outlet::{Outlet, Report},
    runtime::clock,
    store::{Corruption, Store, StoreState, Trouble},
};

/// Its name among the monitors.
pub const NAME: &str = "agent-state";
const CONDITION: &str = "AgentStateUnwritable";
/// The first look at the file takes milliseconds; one that takes longer than this is reported by the store itself.
const FIRST_LOOK: Duration = Duration::from_secs(5);
/// Claims of an earlier run may come out of the file only after the condition was reported as healthy.
const SAID_AGAIN_AFTER: Duration = Duration::from_secs(5);

/// Reports until it is dropped.
pub async fn run(store: Store, directory: PathBuf, outlet: Outlet) {
    let mut monitor = StateMonitor::new(directory, outlet);
    monitor.say(DaemonState::Starting).await;
    let mut states = store.watch();
    // Before the file was tried nothing is known of it.
    let _ = store.kept(&[], FIRST_LOOK).await;
    monitor.say(DaemonState::Running).await;
    loop {
        let state = states.borrow_and_update().clone();
        monitor.look(&state).await;
        tokio::select! {
            Ok(()) = states.changed() => {}
            () = tokio::time::sleep(SAID_AGAIN_AFTER), if monitor.once_more => monitor.all_is_well().await,
        }
    }
}

struct StateMonitor {
    outlet: Outlet,
    directory: String,
    /// This run, for the origins of what it reports.
    run: (BootId, u64),
    sequence: u64,
    /// What was reported last; at first nothing.
    told: Option<Option<Trouble>>,
    corruption: Option<Corruption>,
    /// The healthy state is to be reported again.
    once_more: bool,
}

impl StateMonitor {
    fn new(directory: PathBuf, outlet: Outlet) -> Self {
        let now = clock::now().wall.as_nanosecond();
        let run = (clock::boot_id().unwrap_or_default(), u64::try_from(now).unwrap_or_default());
        let directory = directory.display().to_string();
        Self { outlet, directory, run, sequence: 0, told: None, corruption: None, once_more: false }
    }

    async fn say(&self, state: DaemonState) {
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
        self.outlet.tell(Report::Daemon(Box::new(report))).await;
    }

    async fn look(&mut self, state: &StoreState) {
        if state.corruption != self.corruption {
            self.corruption.clone_from(&state.corruption);
            self.tell_corruption().await;
        }
        if self.told.as_ref().is_some_and(|told| reason(told) == reason(&state.trouble)) {
            return;
        }
        self.told = Some(state.trouble.clone());
        match &state.trouble {
            Some(trouble) => self.raise(trouble).await,
            None => self.all_is_well().await,
        }
        self.once_more = state.trouble.is_none();
    }

    /// The new problem first: between two of them the condition is not healthy.
    async fn raise(&mut self, trouble: &Trouble) {
        let action = match trouble.reason.as_str() {
            "StateMissing" | "StateInUse" => Action::CheckConfiguration,
            _ => Action::CheckFilesystem,
        };
        let raised = self.finding(FindingKind::Raise, trouble.reason.clone(), trouble.message.clone());
        self.tell(Finding { action: Some(action), severity: Severity::Error, ..raised }).await;
        self.clear_all_but(Some(&trouble.reason), "something else is in the way now").await;
    }

    async fn all_is_well(&mut self) {
        self.once_more = false;
        self.clear_all_but(None, "state is kept again").await;
    }

    /// What is not claimed needs no clear, and one more does nothing.
    async fn clear_all_but(&mut self, but: Option<&Name>, evidence: &str) {
        for reason in Trouble::REASONS.into_iter().map(Name::fixed).filter(|reason| Some(reason) != but) {
            let cleared = self.finding(FindingKind::Clear, reason, evidence.to_owned());
            self.tell(cleared).await;
        }
    }

    /// An Event: the file is created again at once, nothing lasts but the loss.
    async fn tell_corruption(&mut self) {
        let Some(message) = self.corruption.as_ref().map(|corruption| corruption.message.clone()) else { return };
        let event = self.finding(FindingKind::Raise, Name::fixed("StateCorrupt"), message);
        self.tell(Finding { condition: None, ..event }).await;
    }

    async fn tell(&self, finding: Finding) {
        self.outlet.tell(Report::Finding(Box::new(finding))).await;
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
            quiet: None,
            ends_at_boot: false,
            action: None,
            guard: Guard::None,
            test: false,
        }
    }
}

fn reason(trouble: &Option<Trouble>) -> Option<&Name> {
    trouble.as_ref().map(|trouble| &trouble.reason)
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
    async fn trouble_is_raised_and_taken_back_when_it_is_over() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("lib/nodewell");
        let store = Store::open(StoreOptions { directory: directory.clone() }).unwrap();
        let (outlet, mut reports) = Outlet::channel();
        let watched = run(store, directory.clone(), outlet);
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
        let (outlet, mut reports) = Outlet::channel();
        tokio::select! {
            () = run(store, directory.path().to_owned(), outlet) => unreachable!("it reports for ever"),
            told = next(&mut reports, FindingKind::Raise, None) => {
                assert_eq!((told.reason.as_str(), told.condition), ("StateCorrupt", None));
            }
        }
    }
}
