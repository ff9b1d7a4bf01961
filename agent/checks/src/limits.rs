//! How much is left of what the kernel gives out, what grows without end, what expires, and what happened so often that it is
//! a problem.
//!
//! Not judged: the entropy of the random number generator, which cannot run out since 5.6 (drivers/char/random.c), and
//! inotify watches and instances, which are counted for each user and only found by looking into every descriptor.

mod cgroups;
mod files;
pub mod judge;
mod kernel;
pub mod reading;
mod reboot;
mod scan;
mod settings;

use std::time::Duration;

use nodewell_settings::Part;

use crate::{
    Settings,
    check::{Check, WorkerGroup},
};

use std::path::{Path, PathBuf};

use crate::probe::{RawReading, ReadError, Reader, Roots};

use self::{
    reading::{CGROUPS, FILES, KERNEL, PARTS, TASKS},
    scan::Scanner,
};

pub use judge::LimitsJudge;
pub use settings::{Levels, LimitsSettings};

/// As the list of checks has it.
pub static CHECK: Check = Check {
    name: "limits",
    worker_group: WorkerGroup::Check,
    table: || Part::of(|all: &mut Settings| &mut all.limits),
    is_enabled: |all| all.limits.enabled,
    interval: |all| all.limits.interval,
    // Files that the kernel makes when they are read.
    deadline: |_| Duration::from_secs(10),
    reader: |roots, all| Box::new(LimitsReader::new(roots, &all.limits)),
    judge: |all, pods| Box::new(LimitsJudge::new(all.limits.clone(), pods.clone())),
};

/// Reads; in a worker.
#[derive(Debug)]
pub struct LimitsReader {
    roots: Roots,
    scanner: Scanner,
    certificates: Vec<PathBuf>,
}

impl LimitsReader {
    #[must_use]
    pub fn new(roots: Roots, settings: &LimitsSettings) -> Self {
        let scanner = Scanner::new(&roots.proc, settings.for_duration);
        Self { roots, scanner, certificates: settings.certificates.clone() }
    }
}

impl Reader for LimitsReader {
    fn list(&mut self) -> Result<Vec<String>, ReadError> {
        if !self.roots.proc.join("loadavg").exists() {
            return Err(ReadError::Gone { what: self.roots.proc.display().to_string() });
        }
        Ok(PARTS.map(str::to_owned).to_vec())
    }

    fn is_list_fixed(&self) -> bool {
        true
    }

    fn read(&mut self, device: &str) -> Result<RawReading, ReadError> {
        match device {
            KERNEL => RawReading::of(&kernel::read(&self.roots)?),
            TASKS => RawReading::of(&self.scanner.read()?),
            CGROUPS => RawReading::of(&cgroups::read(&self.roots)?),
            FILES => RawReading::of(&files::read(&self.roots, &self.certificates)?),
            _ => Err(ReadError::Gone { what: device.to_owned() }),
        }
    }
}

/// The host's own root: procfs is mounted right below it, wherever that is.
pub(crate) fn host(roots: &Roots) -> &Path {
    roots.proc.parent().unwrap_or(Path::new("/"))
}

#[cfg(test)]
mod tests;
