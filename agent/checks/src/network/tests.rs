//! Reader and judge together, on a machine that is a tree of files as Linux 6.18 shows them.

use std::{fs, os::unix::fs::symlink, path::PathBuf, time::Duration};

use crate::probe::{Findings, Judge, Now, PollError, Reader, Roots, Round, State};
use jiff::Timestamp;
use tempfile::TempDir;

use super::{names::Resolver, *};
use crate::network::NetworkSettings;

mod bonds;
mod errors;
mod interfaces;
mod names;
mod routes;
mod survival;

/// A machine with one card, `eth0`, by which its default route goes.
pub(super) struct Machine {
    root: TempDir,
    settings: NetworkSettings,
    reader: NetworkReader,
    judge: NetworkJudge,
    boot_id: String,
    secs: u64,
}

const DOWN: &str = "InterfaceDown: no carrier (limit 30 s); check the cable, the transceiver and the switch's port";
const HEAD: &str = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";
const DEFAULT: &str = "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n";
const ON_LINK: &str = "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";

impl Machine {
    pub(super) fn new() -> Self {
        Self::with(NetworkSettings::default())
    }

    pub(super) fn with(settings: NetworkSettings) -> Self {
        let root = tempfile::tempdir().unwrap();
        let roots = roots(&root);
        let reader = NetworkReader::new(roots, &settings);
        let judge = NetworkJudge::new(settings.clone());
        let mut machine = Self { root, settings, reader, judge, boot_id: "one".to_owned(), secs: 1_000 };
        machine.file("proc/net/route", &format!("{HEAD}{DEFAULT}{ON_LINK}"));
        machine.card("eth0");
        machine
    }

    fn asking(self, lookup: super::names::Lookup) -> Self {
        let resolver = Resolver::new(self.root.path().join("proc"), &self.settings);
        let resolver = resolver.looking_up(lookup, Duration::from_secs(60), Duration::from_secs(60));
        Self { reader: self.reader.with_resolver(resolver), ..self }
    }

    pub(super) fn file(&mut self, path: &str, content: &str) -> &mut Self {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub(super) fn set(&mut self, link: &str, file: &str, content: impl ToString) -> &mut Self {
        self.file(&format!("sys/class/net/{link}/{file}"), &format!("{}\n", content.to_string()))
    }

    fn home(&self, link: &str) -> PathBuf {
        self.root.path().join("sys/class/net").join(link)
    }

    /// A card's interface, up, with a thousand packets behind it.
    pub(super) fn card(&mut self, link: &str) -> &mut Self {
        self.set(link, "device/vendor", "0x8086").link(link);
        self.set(link, "speed", 1000)
    }

    fn link(&mut self, link: &str) -> &mut Self {
        self.set(link, "flags", "0x1003")
            .set(link, "carrier", 1)
            .set(link, "carrier_down_count", 1)
            .set(link, "mtu", 1500);
        self.count(link, "rx_packets", 1_000).count(link, "rx_errors", 7)
    }

    fn count(&mut self, link: &str, counter: &str, count: u64) -> &mut Self {
        self.set(link, &format!("statistics/{counter}"), count)
    }

    /// `upper` lies upon `lower`.
    fn upon(&mut self, upper: &str, lower: &str) -> &mut Self {
        for (at, kind, to) in [(lower, "upper", upper), (upper, "lower", lower)] {
            symlink(self.home(to), self.home(at).join(format!("{kind}_{to}"))).unwrap();
        }
        self
    }

    fn now(&self) -> Now {
        let wall = Timestamp::from_second(1_700_000_000 + i64::try_from(self.secs).unwrap()).unwrap();
        Now { wall, boottime: Duration::from_secs(self.secs), boot_id: self.boot_id.clone() }
    }

    /// One more round, `secs` after the one before.
    pub(super) fn after(&mut self, secs: u64) -> Findings {
        self.secs += secs;
        let listed = self.reader.list().map_err(PollError::Read);
        let devices = listed.clone().unwrap_or_default();
        let answers = devices.into_iter().map(|device| {
            let answer = self.reader.read(&device).map_err(PollError::Read);
            (device, answer)
        });
        let answers = answers.collect();
        self.judge.judge(Round { now: self.now(), listed, answers })
    }

    /// Rounds fifteen seconds apart, for so long; what the last one reports.
    pub(super) fn during(&mut self, secs: u64) -> Findings {
        (0..secs / 15).map(|_| self.after(15)).last().unwrap()
    }

    /// A restart of the check process: what was saved goes through its file.
    fn restart(&mut self) {
        let saved = self.judge.save();
        self.reader = NetworkReader::new(roots(&self.root), &self.settings);
        self.judge = NetworkJudge::new(self.settings.clone());
        if let Some(saved) = saved {
            self.judge.load(serde_json::from_str(&saved.to_string()).unwrap());
        }
    }

    fn boot(&mut self) {
        self.restart();
        (self.boot_id, self.secs) = (format!("{}+", self.boot_id), 30);
    }
}

fn roots(root: &TempDir) -> Roots {
    let path = |name: &str| root.path().join(name);
    Roots { proc: path("proc"), sys: path("sys"), dev: path("dev"), run: path("run"), tracing: path("tracing") }
}

fn state<'a>(findings: &'a Findings, subject: &str) -> Option<&'a State> {
    let mut verdicts = findings.verdicts.iter().filter(|verdict| verdict.subject == subject);
    let verdict = verdicts.next()?;
    assert!(verdicts.next().is_none(), "{subject} has two verdicts");
    assert_eq!(verdict.condition.as_str(), "NetworkUnhealthy");
    Some(&verdict.state)
}

/// What is reported of a subject: its message if it is healthy, its faults with their messages, or why it is unknown.
pub(super) fn reported(findings: &Findings, subject: &str) -> Vec<String> {
    match state(findings, subject) {
        None => vec!["nothing".to_owned()],
        Some(State::Healthy { message }) => vec![format!("healthy: {message}")],
        Some(State::Faulty(faults)) => {
            faults.iter().map(|fault| format!("{}: {}", fault.reason, fault.message)).collect()
        }
        Some(State::Unknown { reason, .. }) => vec![format!("Unknown: {reason}")],
    }
}

/// No condition, no Event.
fn is_silent(findings: &Findings) -> bool {
    let is_healthy = |state: &State| matches!(state, State::Healthy { .. });
    findings.events.is_empty() && findings.verdicts.iter().all(|verdict| is_healthy(&verdict.state))
}

#[test]
fn a_sound_machine_is_healthy() {
    let mut machine = Machine::new();
    assert!(is_silent(&machine.during(3_600)));
    let findings = machine.after(15);
    assert_eq!(reported(&findings, "default-route"), ["healthy: the default route goes by eth0"]);
    assert_eq!(reported(&findings, "eth0"), ["healthy: up, 1000 Mb/s"]);
    assert_eq!(reported(&findings, "dns"), ["nothing"]);
    assert_eq!((findings.hardware[0].total, findings.hardware[0].healthy()), (1, 1));
}
