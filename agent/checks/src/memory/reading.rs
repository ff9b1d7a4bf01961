//! What the memory reader returns: the types that travel from the worker to the check process.

use serde::{Deserialize, Serialize};

use super::ras::RasEvent;

/// The node's memory as a whole, beside the controllers `MC0`, `MC1` …; the subject of what no module answers for. The
/// kernel's own lines begin with it: `Memory failure: …`.
pub const WHOLE: &str = "Memory";

/// One answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryReading {
    Whole(Whole),
    Controller(Controller),
}

/// What is known of the node's memory without knowing the module.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Whole {
    /// `HardwareCorrupted` of `/proc/meminfo`: taken out of use, whatever asked for it. kB.
    pub corrupted_kb: Option<u64>,
    /// Pages that lost data in this boot; `None` on kernels before 6.3, which do not count.
    pub lost_pages: Option<u64>,
    /// What the kernel's RAS trace events reported since the last reading.
    pub events: Vec<RasEvent>,
}

impl Whole {
    /// How many pages have failed by the trace events.
    pub(super) fn failed_pages(&self) -> u64 {
        self.events.iter().filter(|event| matches!(event, RasEvent::Page { .. })).count() as u64
    }
}

/// One memory controller, as EDAC shows it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Controller {
    pub modules: Vec<Module>,
    /// Errors that the driver could not place; all of them where it knows no modules.
    pub unplaced: Errors,
    /// How long its counters have been counting.
    pub counting_secs: Option<u64>,
}

/// One module, or what the driver can distinguish: a rank.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Module {
    /// Its directory, such as `dimm3`: its identity, whatever its label.
    pub slot: String,
    /// What the kernel's log calls it.
    pub label: String,
    pub megabytes: Option<u64>,
    pub errors: Errors,
}

/// Counters; `None` is one that could not be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Errors {
    pub corrected: Option<u64>,
    pub uncorrected: Option<u64>,
}
