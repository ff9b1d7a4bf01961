//! CPUs: which are online, how hot they run, which microcode they run.
//!
//! Machine checks are the kernel log's (rules/shipped/hardware.toml); those that are about memory are the memory
//! check's.

pub mod judge;
pub mod list;
pub mod microcode;
pub mod reading;
mod settings;
mod throttle;
mod throttle_reading;

use std::time::Duration;

use nodewell_settings::Part;

use crate::{
    Settings,
    check::{Check, WorkerGroup},
};

use std::path::{Path, PathBuf};

use self::{
    list::CpuSet,
    reading::{ALL, CpuReading},
};
use crate::probe::{RawReading, ReadError, Reader, Roots, attribute};

pub use judge::CpuJudge;
pub use settings::CpuSettings;

/// As the list of checks has it.
pub static CHECK: Check = Check {
    name: "cpu",
    worker_group: WorkerGroup::Check,
    table: || Part::of(|all: &mut Settings| &mut all.cpu),
    is_enabled: |all| all.cpu.enabled,
    interval: |all| all.cpu.interval,
    deadline: |_| Duration::from_secs(10),
    reader: |roots, all| Box::new(CpuReader::new(roots, &all.cpu)),
    judge: |all, _| Box::new(CpuJudge::new(all.cpu.clone())),
};

/// Reads in a worker.
#[derive(Debug)]
pub struct CpuReader {
    roots: Roots,
}

impl CpuReader {
    #[must_use]
    pub fn new(roots: Roots, _settings: &CpuSettings) -> Self {
        Self { roots }
    }

    fn cpus(&self) -> PathBuf {
        self.roots.sys.join("devices/system/cpu")
    }

    fn reading(&self) -> Result<CpuReading, ReadError> {
        let directory = self.cpus();
        let online = set(&directory.join("online"))?.ok_or_else(gone)?;
        let present = set(&directory.join("present"))?.unwrap_or_else(|| online.clone());
        let cpus = attribute::numbered(&directory, "cpu")?;
        let smt = attribute::text(&directory.join("smt/control"))?.unwrap_or_default();
        // Reading it does not disturb the CPUs since 5.18; before, once a minute is what people do by hand.
        let cpuinfo = attribute::text(&self.roots.proc.join("cpuinfo"))?.unwrap_or_default();
        Ok(CpuReading {
            online,
            present,
            siblings: siblings(&cpus),
            siblings_off: matches!(smt.trim(), "off" | "forceoff"),
            microcode: microcode::revisions(&cpuinfo),
            throttling: throttle_reading::read(&cpus),
        })
    }
}

impl Reader for CpuReader {
    fn list(&mut self) -> Result<Vec<String>, ReadError> {
        match attribute::text(&self.cpus().join("online"))? {
            Some(_) => Ok(vec![ALL.to_owned()]),
            None => Err(gone()),
        }
    }

    fn is_list_fixed(&self) -> bool {
        true
    }

    fn read(&mut self, device: &str) -> Result<RawReading, ReadError> {
        if device != ALL {
            return Err(ReadError::Gone { what: device.to_owned() });
        }
        RawReading::of(&self.reading()?)
    }
}

/// A kernel without sysfs for CPUs: nothing is published.
fn gone() -> ReadError {
    ReadError::Gone { what: ALL.to_owned() }
}

fn set(path: &Path) -> Result<Option<CpuSet>, ReadError> {
    let Some(text) = attribute::text(path)? else { return Ok(None) };
    let parsed = CpuSet::parse(&text);
    parsed.map(Some).map_err(|error| ReadError::Failed { message: format!("{}: {error}", path.display()) })
}

/// CPUs that are not the first of their core. One that is offline shows nothing.
fn siblings(cpus: &[(u32, PathBuf)]) -> CpuSet {
    let is_sibling = |(cpu, path): &&(u32, PathBuf)| {
        let text = attribute::text(&path.join("topology/thread_siblings_list")).ok().flatten();
        let core = text.and_then(|text| CpuSet::parse(&text).ok()).unwrap_or_default();
        core.0.first().is_some_and(|first| first < cpu)
    };
    CpuSet(cpus.iter().filter(is_sibling).map(|(cpu, _)| *cpu).collect())
}

#[cfg(test)]
mod tests;
