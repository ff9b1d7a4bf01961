//! What a log monitor reports to the ledger, and when.

use std::collections::BTreeMap;

use nodewell_model::{BootId, FindingKind, Name, NoFields, view::DaemonState};
use nodewell_rules::{LoadPlan, RulesFrom, load};
use tokio::sync::mpsc;

use super::{daemons::TTL, *};
use crate::{
    detectors::{
        pod_names::{KnownPodNames, PodNamesFile},
        proof::HostRoots,
    },
    runtime::stats::Stats,
};

const RULES: &str = r#"
[[condition]]
type = "TestUnhealthy"
healthy-reason = "TestIsHealthy"
healthy-message = "all is well"

[[rule]]
reason = "TestFault"
type = "permanent"
condition = "TestUnhealthy"
source = "kmsg"
severity = "error"
pattern = '^test: fault'
count = 2
window = "1h"
clears = { quiet = "1d" }
matches = ["test: fault"]
ignores = ["a test: fault"]
"#;

/// A monitor, its channel, and what keeps both alive.
struct Bench {
    monitor: Option<LogMonitor>,
    reports: mpsc::Receiver<Report>,
    checkpoint: Checkpoint,
    setup: LogSetup,
    _rules: watch::Sender<Arc<RuleSet>>,
}

fn bench(saved_cursors: Vec<Origin>) -> Bench {
    bench_of(RULES, saved_cursors)
}

fn bench_of(rules: &str, saved_cursors: Vec<Origin>) -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("nodewell.sock");
    std::fs::write(folder.path().join("test.toml"), rules).unwrap();
    let rules = RulesFrom::Dirs(vec![folder.path().to_owned()]);
    let loaded = load(&LoadPlan { rules, ..LoadPlan::default() });
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    let (sender, rules) = watch::channel(Arc::new(loaded.set));
    let (ledger_sender, reports) = LedgerSender::channel();
    let checkpoint = Checkpoint::default();
    let setup = LogSetup {
        rules,
        reader: Reader::Kmsg,
        prover: Prover::new(HostRoots::default(), KnownPodNames::new(PodNamesFile::of(&socket))),
        ledger_sender,
        stats: Stats::default().monitor(&"kernel-monitor".into()),
        started: Timestamp::now(),
        lookback: Duration::from_secs(300),
        log: "kmsg".into(),
        saved_cursors,
        checkpoint: checkpoint.clone(),
    };
    Bench { monitor: Some(LogMonitor::new(setup.clone())), reports, checkpoint, setup, _rules: sender }
}

impl Bench {
    fn monitor(&mut self) -> &mut LogMonitor {
        self.monitor.as_mut().unwrap()
    }

    /// What was reported since the last look: daemons' states, and findings with the cursors that came with them.
    fn reported(&mut self) -> (Vec<DaemonState>, Vec<(usize, Vec<Origin>)>) {
        let (mut states, mut found) = (Vec::new(), Vec::new());
        while let Ok(report) = self.reports.try_recv() {
            match report {
                Report::Daemon(report) => {
                    assert_eq!(report.ttl, Some(TTL));
                    states.push(report.state);
                }
                Report::Found(sent) => {
                    assert!(sent.findings.iter().all(|finding| finding.kind == FindingKind::Raise));
                    found.push((sent.findings.len(), sent.cursors));
                }
                other => panic!("{other:?}"),
            }
        }
        (states, found)
    }
}

/// By reason and subject.
type Counted = BTreeMap<(Name, Option<String>), u64>;

impl Bench {
    /// Adds what was found since the last look; how many reports that were.
    fn count(&mut self, counted: &mut Counted) -> u32 {
        let mut reports = 0;
        while let Ok(report) = self.reports.try_recv() {
            let Report::Found(sent) = report else { continue };
            reports += 1;
            assert!(sent.findings.len() <= 29, "{}", sent.findings.len());
            for finding in sent.findings {
                *counted.entry((finding.reason, finding.subject)).or_default() += finding.count;
            }
        }
        reports
    }
}

fn cursor(sequence: u64) -> Origin {
    Origin::Kmsg { boot_id: BootId::default(), sequence }
}

fn fault(sequence: u64) -> Record<'static> {
    Record {
        time: Timestamp::now(),
        since_boot: None,
        boot_id: None,
        origin: cursor(sequence),
        text: b"test: fault",
        fields: &NoFields,
        test: false,
    }
}

#[test]
fn a_source_runs_once_it_has_read_what_was_there() {
    let mut bench = bench(Vec::new());
    bench.monitor().state(SourceState::Running);
    bench.monitor().record(&fault(1));
    assert_eq!(bench.reported(), (Vec::new(), Vec::new()));
    bench.monitor().idle();
    assert_eq!(bench.reported().0, [DaemonState::Running]);
}

#[test]
fn a_source_that_never_pauses_is_not_waited_for() {
    let mut bench = bench(Vec::new());
    bench.monitor().state(SourceState::Running);
    bench.monitor().health.begun_at = Duration::ZERO;
    (1..=u64::from(FLUSH_EVERY_RECORDS)).for_each(|n| bench.monitor().record(&fault(n)));
    assert_eq!(bench.reported().0, [DaemonState::Running]);
}

#[test]
fn a_quiet_source_gives_signs_of_life() {
    let mut bench = bench(Vec::new());
    bench.monitor().state(SourceState::Running);
    bench.monitor().idle();
    bench.monitor().idle();
    assert_eq!(bench.reported().0.len(), 1);
    bench.monitor().health.heartbeat_at = Duration::ZERO;
    bench.monitor().idle();
    assert_eq!(bench.reported().0, [DaemonState::Running]);
}

#[test]
fn findings_travel_with_the_cursor_behind_them_and_a_cursor_alone_rarely() {
    let mut bench = bench(Vec::new());
    bench.monitor().record(&fault(1));
    bench.monitor().idle();
    assert!(bench.reported().1.is_empty(), "one fault is none, and its cursor alone may wait");
    bench.monitor().record(&fault(2));
    bench.monitor().idle();
    assert_eq!(bench.reported().1, [(1, vec![cursor(2)])]);
    bench.monitor().cursors_sent_at = Duration::ZERO;
    bench.monitor().record(&fault(3));
    bench.monitor = None;
    assert_eq!(bench.reported().1.last().unwrap().1, [cursor(3)], "the end of the thread sends it");
}

#[test]
fn what_an_earlier_run_has_judged_is_recalled_and_not_reported() {
    let mut bench = bench(vec![cursor(2)]);
    (1..=2).for_each(|n| bench.monitor().known(&fault(n)));
    bench.monitor().idle();
    assert!(bench.reported().1.is_empty());
    bench.monitor().record(&fault(3));
    bench.monitor().idle();
    assert_eq!(bench.reported().1, [(1, vec![cursor(3)])], "the count goes on where it was");
}

#[test]
fn what_a_thread_panicked_at_is_not_judged_by_the_next() {
    let mut bench = bench(vec![cursor(1)]);
    bench.monitor().record(&fault(2));
    bench.monitor = None;
    bench.reported();
    assert_eq!(bench.checkpoint.cursors(), [cursor(2)]);
    let mut next = LogMonitor::new(bench.setup.clone());
    next.known(&fault(2));
    next.record(&fault(3));
    next.idle();
    assert!(bench.reported().1.is_empty(), "one fault is none");
}

const GPU_RULES: &str = r#"
[[condition]]
type = "GpuUnhealthy"
healthy-reason = "GpusAreHealthy"
healthy-message = "all is well"

[[condition]]
type = "GpuFabricUnhealthy"
healthy-reason = "GpuFabricIsHealthy"
healthy-message = "all is well"

[[rule]]
reason = "GpuXid"
decoder = "nvidia-xid"
pattern = '^NVRM: Xid \('
clears = { boot = true }
matches = ["NVRM: Xid (PCI:0000:05:00): 79, fallen"]

[[rule]]
reason = "GpuLost"
type = "permanent"
condition = "GpuUnhealthy"
shows-healthy-condition = false
pattern = '^gpu: lost'
clears = { boot = true }
matches = ["gpu: lost"]
"#;

#[test]
fn a_flood_of_29_xids_is_counted_and_not_enqueued() {
    let mut bench = bench_of(GPU_RULES, Vec::new());
    let lines: Vec<String> = (0..29)
        .map(|n| format!("NVRM: Xid (PCI:0000:{:02x}:00): {}, flood", n % 8, [95, 79, 31, 154][n / 8]))
        .collect();
    let (mut reports, mut counted) = (0, BTreeMap::new());
    for sequence in 1..=29_000u64 {
        let text = lines[usize::try_from(sequence % 29).unwrap()].as_bytes();
        bench.monitor().record(&Record { text, ..fault(sequence) });
        if sequence % 1000 == 0 {
            bench.monitor().idle();
            reports += bench.count(&mut counted);
        }
    }
    // Each is sent once for every FLUSH_EVERY_RECORDS records and once for every pause, whatever the flood.
    assert!(reports <= 29_000 / FLUSH_EVERY_RECORDS + 29, "{reports}");
    assert_eq!(counted.len(), 29);
    assert!(counted.values().all(|count| *count == 1000), "{counted:?}");
}

#[test]
fn a_rule_may_leave_its_condition_to_others() {
    let bench = bench_of(GPU_RULES, Vec::new());
    let rules = Arc::clone(&bench.setup.rules.borrow());
    assert_eq!(monitor_names(&rules, &Reader::Kmsg)["kernel-monitor"], Vec::<Name>::new());
}

const HUNG_RULES: &str = r#"
[[condition]]
type = "TestUnhealthy"
healthy-reason = "TestIsHealthy"
healthy-message = "all is well"

[[rule]]
reason = "TestHung"
type = "temporary"
source = "kmsg"
severity = "warn"
pattern = '^test: (?P<subject>\w+) hangs'
matches = [{ text = "test: docker hangs", subject = "docker" }]
ignores = ["a test: docker hangs"]

[[rule]]
reason = "TestHung"
type = "permanent"
condition = "TestUnhealthy"
source = "kmsg"
severity = "error"
pattern = '^test: (?P<subject>docker) hangs'
clears = { quiet = "1d" }
matches = [{ text = "test: docker hangs", subject = "docker" }]
ignores = ["test: touch hangs"]
"#;

/// The first of them is an Event of any task, the second the condition of the node's own.
#[test]
fn a_record_of_two_rules_with_one_reason_counts_once() {
    let mut bench = bench_of(HUNG_RULES, Vec::new());
    for (sequence, text) in [(1, b"test: docker hangs" as &[u8]), (2, b"test: touch hangs")] {
        bench.monitor().record(&Record { text, ..fault(sequence) });
        bench.monitor().idle();
        assert_eq!(bench.reported().1, [(1, vec![cursor(sequence)])], "{sequence}");
    }
}
