//! Memory: what EDAC counts for each module, what CXL devices report, and what the kernel took out of use.
//!
//! Sources, none of which has to be there: EDAC in sysfs, `HardwareCorrupted` and `memory_failure`, RAS trace events.
//! The kernel's log has rules for the same faults (rules/shipped/memory.toml) with the same reasons and subjects.

pub mod bucket;
pub mod cxl;
mod cxl_state;
pub mod edac;
mod join;
pub mod judge;
pub mod pages;
pub mod ras;
pub mod reading;
mod settings;
mod state;
pub mod trace;
mod whole;

use std::time::Duration;

use nodewell_settings::Part;

use crate::{
    Settings,
    check::{Check, WorkerGroup},
};

use std::path::Path;

use self::{
    reading::{MemoryReading, WHOLE},
    trace::Tracing,
};
use crate::probe::{RawReading, ReadError, Reader, Roots};

pub use judge::MemoryJudge;
pub use settings::MemorySettings;

/// As the list of checks has it.
pub static CHECK: Check = Check {
    name: "memory",
    worker_group: WorkerGroup::Check,
    table: || Part::of(|all: &mut Settings| &mut all.memory),
    is_enabled: |all| all.memory.enabled,
    interval: |all| all.memory.interval,
    deadline: |_| Duration::from_secs(10),
    reader: |roots, all| Box::new(MemoryReader::new(roots, &all.memory)),
    judge: |all, _| Box::new(MemoryJudge::new(all.memory.clone())),
};

/// Reads in a worker.
#[derive(Debug)]
pub struct MemoryReader {
    roots: Roots,
    /// Opened by the first reading that finds it; one that refuses is not asked again.
    tracing: Option<Tracing>,
    tracing_failed: bool,
}

impl MemoryReader {
    #[must_use]
    pub fn new(roots: Roots, _settings: &MemorySettings) -> Self {
        Self { roots, tracing: None, tracing_failed: false }
    }

    fn whole(&mut self) -> Result<MemoryReading, ReadError> {
        let mut whole = pages::read(&self.roots.proc, &self.roots.sys)?;
        if self.tracing.is_none() && !self.tracing_failed && Tracing::is_there(&self.roots.tracing) {
            self.tracing = Tracing::open(&self.roots.tracing);
            self.tracing_failed = self.tracing.is_none();
        }
        whole.events = self.tracing.as_mut().map(Tracing::drain).unwrap_or_default();
        Ok(MemoryReading::Whole(whole))
    }
}

impl Reader for MemoryReader {
    fn list(&mut self) -> Result<Vec<String>, ReadError> {
        let controllers = edac::controllers(&self.roots.sys)?;
        let names = controllers.into_iter().map(|(number, _)| format!("MC{number}"));
        Ok(std::iter::once(WHOLE.to_owned()).chain(names).collect())
    }

    fn read(&mut self, device: &str) -> Result<RawReading, ReadError> {
        let reading = match device {
            WHOLE => self.whole()?,
            _ => controller(&self.roots.sys, device)?,
        };
        RawReading::of(&reading)
    }
}

fn controller(sys: &Path, device: &str) -> Result<MemoryReading, ReadError> {
    let gone = || ReadError::Gone { what: device.to_owned() };
    let number = device.strip_prefix("MC").and_then(|digits| digits.parse::<u32>().ok()).ok_or_else(gone)?;
    let directory = edac::controllers(sys)?.into_iter().find(|(known, _)| *known == number);
    let (_, directory) = directory.ok_or_else(gone)?;
    edac::read(&directory)?.map(MemoryReading::Controller).ok_or_else(gone)
}

#[cfg(test)]
mod tests;
