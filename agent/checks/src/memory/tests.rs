//! The reader and the judge on trees made from the kernel's ABI documents.

mod counters;
mod cxl;
mod join;
mod reading;
mod survival;

use std::{fs, path::Path, time::Duration};

use jiff::Timestamp;
use tempfile::TempDir;

use super::*;
use crate::{
    memory::MemorySettings,
    probe::{Findings, Judge, Now, PollError, Round, State},
};

/// A node: its files, its clocks, and what judges it.
struct Node {
    root: TempDir,
    now: Now,
    judge: MemoryJudge,
}

const DIMM: &str = "CPU_SrcID#0_MC#0_Chan#0_DIMM#1";

impl Node {
    /// One controller with two modules, and no error.
    fn new() -> Self {
        let node = Self::without_edac();
        node.write("sys/devices/system/edac/mc/mc0/mc_name", "LAB-MC");
        node.mc("seconds_since_reset", 100);
        node.mc("ce_count", 0).mc("ue_count", 0).mc("ce_noinfo_count", 0).mc("ue_noinfo_count", 0);
        for (slot, label) in [("dimm0", "CPU_SrcID#0_MC#0_Chan#0_DIMM#0"), ("dimm1", DIMM)] {
            node.write(&format!("sys/devices/system/edac/mc/mc0/{slot}/dimm_label"), label);
            node.write(&format!("sys/devices/system/edac/mc/mc0/{slot}/size"), "16384");
            node.mc(&format!("{slot}/dimm_ce_count"), 0).mc(&format!("{slot}/dimm_ue_count"), 0);
        }
        node
    }

    fn without_edac() -> Self {
        let now = Now {
            wall: Timestamp::from_second(1_800_000_000).unwrap(),
            boottime: Duration::from_secs(100),
            boot_id: "boot-1".to_owned(),
        };
        let judge = MemoryJudge::new(MemorySettings::default());
        let node = Self { root: tempfile::tempdir().unwrap(), now, judge };
        node.corrupted_kb(0);
        node.lost_pages(0);
        node
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.root.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    fn mc(&self, attribute: &str, number: u64) -> &Self {
        self.write(&format!("sys/devices/system/edac/mc/mc0/{attribute}"), &number.to_string());
        self
    }

    fn corrupted_kb(&self, kb: u64) {
        self.write(
            "proc/meminfo",
            &format!("MemTotal:       16384000 kB\nHardwareCorrupted: {kb:5} kB\nHugePages_Total:       0"),
        );
    }

    fn lost_pages(&self, pages: u64) {
        self.write("sys/devices/system/node/node0/memory_failure/total", &pages.to_string());
        self.write("sys/devices/system/node/node1/memory_failure/total", "0");
    }

    /// Events that the kernel has printed since the last reading.
    fn trace(&self, lines: &str) {
        for event in ["ras/mc_event", "ras/memory_failure_event", "mce/mce_record"] {
            self.write(&format!("tracing/instances/nodewell/events/{event}/enable"), "0");
        }
        self.write("tracing/instances/nodewell/trace_pipe", lines);
    }

    fn reader(&self) -> MemoryReader {
        MemoryReader::new(roots(self.root.path()), &MemorySettings::default())
    }

    fn pass(&mut self, secs: u64) -> &mut Self {
        let passed = Duration::from_secs(secs);
        self.now.wall += passed;
        self.now.boottime += passed;
        self
    }

    fn reboot(&mut self, off_secs: u64) {
        self.pass(off_secs);
        self.now.boottime = Duration::from_secs(50);
        self.now.boot_id.push('\'');
    }

    /// What is read now, by a reader that has just been started.
    fn round(&self) -> Round {
        let mut reader = self.reader();
        let listed = reader.list().map_err(PollError::Read);
        let devices = listed.clone().unwrap_or_default();
        let answers = devices.into_iter().map(|device| (device.clone(), reader.read(&device).map_err(PollError::Read)));
        Round { now: self.now.clone(), answers: answers.collect(), listed }
    }

    /// A minute passes, and a round is judged.
    fn look(&mut self) -> Findings {
        let round = self.pass(60).round();
        self.judge.judge(round)
    }

    /// The check process ends and restarts with what it saved.
    fn restart(&mut self) {
        let saved = self.judge.save();
        self.judge = MemoryJudge::new(MemorySettings::default());
        if let Some(saved) = saved {
            self.judge.load(serde_json::from_str(&saved.to_string()).unwrap());
        }
    }
}

fn roots(root: &Path) -> Roots {
    let at = |name| root.join(name);
    Roots { proc: at("proc"), sys: at("sys"), dev: at("dev"), run: at("run"), tracing: at("tracing") }
}

fn state<'a>(findings: &'a Findings, subject: &str) -> Option<&'a State> {
    findings.verdicts.iter().find(|verdict| verdict.subject == subject).map(|verdict| &verdict.state)
}

/// The reasons that hold against `subject`; `healthy`, `unknown` or `absent` if there are none.
fn reasons(findings: &Findings, subject: &str) -> Vec<String> {
    match state(findings, subject) {
        None => vec!["absent".to_owned()],
        Some(State::Healthy { .. }) => vec!["healthy".to_owned()],
        Some(State::Unknown { reason, .. }) => vec![format!("unknown: {reason}")],
        Some(State::Faulty(faults)) => faults.iter().map(|fault| fault.reason.to_string()).collect(),
    }
}
