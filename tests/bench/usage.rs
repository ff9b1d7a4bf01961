//! What a process costs, as the kernel reports it under /proc.

use std::{fs, path::PathBuf, time::Duration};

use nix::{
    time::{clock_getcpuclockid, clock_gettime},
    unistd::Pid,
};

use crate::mappings::copies_mib;

/// Memory of one process.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Memory {
    pub(crate) resident_mib: f64,
    pub(crate) proportional_mib: f64,
    /// Without its copies of the program, which are in the other two.
    pub(crate) anonymous_mib: f64,
}

/// One process.
#[derive(Debug, Clone)]
pub(crate) struct Usage {
    pid: Pid,
    folder: PathBuf,
}

impl Usage {
    pub(crate) fn of(pid: u32) -> Self {
        Self { pid: Pid::from_raw(pid.cast_signed()), folder: format!("/proc/{pid}").into() }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid.as_raw().unsigned_abs()
    }

    /// From `smaps_rollup`: huge pages and shared pages are counted as they are.
    pub(crate) fn memory(&self) -> Memory {
        let rollup = self.read("smaps_rollup");
        Memory {
            resident_mib: mib(&rollup, "Rss"),
            proportional_mib: mib(&rollup, "Pss"),
            anonymous_mib: mib(&rollup, "Anonymous") - copies_mib(&self.read("smaps")),
        }
    }

    /// The most that was ever resident.
    pub(crate) fn peak_mib(&self) -> f64 {
        mib(&self.read("status"), "VmHWM")
    }

    /// Time on a CPU by the kernel's own clock for the process, in nanoseconds: threads that ended are in it, and
    /// `stat` counts in ticks of 10 ms.
    pub(crate) fn cpu(&self) -> Duration {
        let clock = clock_getcpuclockid(self.pid).expect("the process runs");
        clock_gettime(clock).expect("the clock is the kernel's").into()
    }

    /// What it has caused to be written to disks.
    pub(crate) fn written_bytes(&self) -> u64 {
        let io = self.read("io");
        let reported = io.lines().find_map(|line| line.strip_prefix("write_bytes: ")?.parse().ok());
        reported.expect("the kernel reports it")
    }

    pub(crate) fn thread_count(&self) -> usize {
        fs::read_dir(self.folder.join("task")).expect("the process runs").count()
    }

    /// What is mapped, and the program that runs.
    pub(crate) fn mappings(&self) -> (String, PathBuf) {
        let program = fs::read_link(self.folder.join("exe")).expect("the process runs");
        (self.read("smaps"), program)
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.folder.join(file)).expect("the process runs")
    }
}

fn mib(text: &str, key: &str) -> f64 {
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    let kib = value.and_then(|value| value.split_whitespace().next()).and_then(|word| word.parse::<f64>().ok());
    kib.expect("the kernel reports it") / 1024.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_can_be_read() {
        let me = Usage::of(std::process::id());
        let memory = me.memory();
        assert!(memory.anonymous_mib > 0.0 && memory.anonymous_mib <= memory.resident_mib);
        assert!(me.peak_mib() >= memory.anonymous_mib);
        assert!(me.thread_count() >= 1 && me.cpu() > Duration::ZERO);
    }

    #[test]
    fn keys_are_whole_words() {
        let rollup = "Pss_Anon:  10240 kB\nPss:   2048 kB\n";
        assert!((mib(rollup, "Pss") - 2.0).abs() < f64::EPSILON);
    }
}
