//! The monitors that are expected are those that start.

use std::path::Path;

use nodewell_model::{Name, view::DaemonState};
use tokio::task::LocalSet;

use super::*;
use crate::{
    config::Flags,
    detectors::{
        pod_names::{KnownPodNames, PodNamesFile},
        proof::HostRoots,
    },
};

/// By name: what each watches.
type Watched = BTreeMap<Arc<str>, Vec<Name>>;

fn watched(reports: Vec<DaemonReport>) -> Watched {
    assert!(reports.iter().all(|report| report.state == DaemonState::Starting));
    reports.into_iter().map(|report| (report.name, report.watches)).collect()
}

/// Its logs are files of `folder`.
fn config(folder: &Path, has_journal: bool) -> Config {
    let mut config = Config::of_flags(&Flags { standalone: true, ..Flags::default() });
    config.socket.path = folder.join("nodewell.sock");
    config.kmsg.path = folder.join("kmsg");
    config.journal.directory = Some(folder.to_owned());
    config.journal.enabled = has_journal;
    config
}

/// What the readers report before their threads start.
async fn reported_by_readers(rules: RuleSet, config: Config) -> Watched {
    let (ledger_sender, mut reports) = LedgerSender::channel();
    let (_sender, rules) = watch::channel(Arc::new(rules));
    let mut readers = Readers::new(ReaderSetup {
        rules,
        ledger_sender,
        prover: Prover::new(HostRoots::default(), KnownPodNames::new(PodNamesFile::of(&config.socket.path))),
        stats: Stats::default(),
        expectations: Expectations::default(),
        kernel_log: None,
        cursors: SavedCursors::new(),
        config,
    });
    let mut tasks = Tasks::new(Stop::new().unwrap());
    readers.fit(&mut tasks).await.unwrap();
    let mut starting = Vec::new();
    while let Ok(report) = reports.try_recv() {
        if let Report::Daemon(report) = report
            && report.state == DaemonState::Starting
        {
            starting.push(*report);
        }
    }
    drop(reports);
    tasks.drain(Duration::from_secs(10)).await;
    watched(starting)
}

#[tokio::test]
async fn what_is_expected_is_what_the_readers_report_at_their_start() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kmsg"), "").unwrap();
    let shipped = || nodewell_rules::load(&Default::default()).set;
    for has_journal in [true, false] {
        let config = config(folder.path(), has_journal);
        let expected = watched(expected(&shipped(), &config));
        assert!(expected["kernel-monitor"].contains(&Name::fixed("KernelDeadlock")), "{expected:?}");
        let reported = LocalSet::new().run_until(reported_by_readers(shipped(), config)).await;
        assert_eq!(expected, reported, "journal: {has_journal}");
    }
}
