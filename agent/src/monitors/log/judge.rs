//! Record → findings: the rules of one reader, and the host's evidence on what they found.

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{Arc, LazyLock},
    time::Duration,
};

use jiff::Timestamp;
use nodewell_faults::{Branch, Host, host::is_hopper};
use nodewell_model::{Finding, FindingKind, Name, Record};
use nodewell_rules::{Detector, Reader, RuleSet};
use tokio::sync::watch;

use super::LogSetup;
use crate::{detectors::proof::Prover, monitors::coalesce::Coalescer};

/// Judges the records of one source by the rules in force.
pub(super) struct Judge {
    rules: watch::Receiver<Arc<RuleSet>>,
    reader: Reader,
    started: Timestamp,
    lookback: Duration,
    prover: Prover,
    /// `None` if a reload left the reader no rules.
    detector: Option<Detector>,
    found: Vec<Finding>,
    /// What was there at the start has been read.
    caught_up: bool,
}

impl Judge {
    pub(super) fn new(setup: &LogSetup) -> Self {
        let mut judge = Self {
            rules: setup.rules.clone(),
            reader: setup.reader.clone(),
            started: started(setup),
            lookback: setup.lookback,
            prover: setup.prover.clone(),
            detector: None,
            found: Vec::new(),
            caught_up: false,
        };
        judge.load_rules();
        judge
    }

    /// `false` after a reload that left the reader none.
    pub(super) fn has_rules(&self) -> bool {
        self.detector.is_some()
    }

    /// A reload takes effect at the next record.
    pub(super) fn follow_reload(&mut self) {
        if self.rules.has_changed().unwrap_or(false) {
            self.load_rules();
            self.forget_the_start();
        }
    }

    /// Adds what the record shows to `waiting`.
    pub(super) fn judge(&mut self, record: &Record<'_>, waiting: &mut Coalescer) {
        if let Some(detector) = &mut self.detector {
            detector.push(record, &mut self.found);
        }
        let mut proven: Vec<Finding> = self.found.drain(..).filter_map(|finding| self.prover.prove(finding)).collect();
        drop_doubles(&mut proven);
        proven.into_iter().for_each(|finding| waiting.add(finding));
    }

    /// Counts a record that an earlier run of the agent has judged.
    pub(super) fn recall(&mut self, record: &Record<'_>) {
        if let Some(detector) = &mut self.detector {
            detector.push(record, &mut self.found);
            self.found.clear();
        }
    }

    /// What was there at the start has been read.
    pub(super) fn catch_up(&mut self) {
        self.caught_up = true;
        self.forget_the_start();
    }

    fn load_rules(&mut self) {
        let rules = Arc::clone(&self.rules.borrow_and_update());
        self.detector = rules.readers.iter().position(|reader| *reader == self.reader).and_then(|reader| {
            Detector::new(rules, reader)
                .map(|detector| detector.with_start(self.started, self.lookback).with_host(nvidia_host()))
                .inspect_err(|diagnostics| {
                    diagnostics.iter().for_each(|diagnostic| tracing::error!(%diagnostic, "a rule cannot be run"));
                })
                .ok()
        });
    }

    fn forget_the_start(&mut self) {
        if let Some(detector) = self.detector.as_mut().filter(|_| self.caught_up) {
            detector.caught_up();
        }
    }
}

/// One record happened once: where a rule's condition is True by it, a rule of the same monitor and reason that makes
/// an Event alone adds nothing to the Event of that problem.
fn drop_doubles(proven: &mut Vec<Finding>) {
    let holds = |finding: &Finding| finding.kind == FindingKind::Raise && finding.condition.is_some();
    let held: Vec<(Arc<str>, Name, Option<String>)> = proven
        .iter()
        .filter(|finding| holds(finding))
        .map(|finding| (Arc::clone(&finding.source), finding.reason.clone(), finding.subject.clone()))
        .collect();
    let is_double = |finding: &Finding| {
        finding.condition.is_none()
            && held.iter().any(|(source, reason, subject)| {
                *source == finding.source && *reason == finding.reason && *subject == finding.subject
            })
    };
    proven.retain(|finding| !is_double(finding));
}

/// The branch of NVIDIA's driver if it is loaded: its own line, which names it too, may have left the log long ago. And
/// which GPUs are Hoppers: they are on the bus before the driver is loaded.
fn nvidia_host() -> Host {
    static HOPPERS: LazyLock<BTreeSet<String>> = LazyLock::new(|| hoppers(Path::new("/sys/bus/pci/devices")));
    let version = std::fs::read_to_string("/sys/module/nvidia/version").ok();
    Host { branch: version.as_deref().and_then(Branch::of_version), hoppers: HOPPERS.clone() }
}

/// Documentation/ABI/testing/sysfs-bus-pci: a folder for each device, named by its address.
fn hoppers(devices: &Path) -> BTreeSet<String> {
    let text = |device: &Path, file: &str| std::fs::read_to_string(device.join(file)).unwrap_or_default();
    let entries = std::fs::read_dir(devices).into_iter().flatten().flatten().map(|entry| entry.path());
    let hoppers = entries.filter(|device| is_hopper(&text(device, "vendor"), &text(device, "device")));
    hoppers.filter_map(|device| Some(device.file_name()?.to_str()?.to_owned())).collect()
}

/// What was written while the agent was away is news, however old it is; what was there before its first start is not.
fn started(setup: &LogSetup) -> Timestamp {
    if setup.saved_cursors.is_empty() { setup.started } else { Timestamp::MIN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hoppers_are_found_on_the_bus() {
        let bus = tempfile::tempdir().unwrap();
        let (nvidia, amd) = ("0x10de\n", "0x1002\n");
        for (address, vendor, device) in [
            ("0000:05:00.0", nvidia, "0x2330\n"),
            ("0000:06:00.0", nvidia, "0x20b2\n"),
            ("0000:07:00.0", amd, "0x2330\n"),
        ] {
            let folder = bus.path().join(address);
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join("vendor"), vendor).unwrap();
            std::fs::write(folder.join("device"), device).unwrap();
        }
        assert_eq!(hoppers(bus.path()).into_iter().collect::<Vec<_>>(), ["0000:05:00.0"]);
        assert!(hoppers(&bus.path().join("none")).is_empty());
    }
}
