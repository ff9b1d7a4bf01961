//! EDAC's view of a memory controller: `/sys/devices/system/edac/mc/mc0` (Documentation/admin-guide/ras.rst).

use std::path::{Path, PathBuf};

use super::reading::{Controller, Errors, Module};
use crate::probe::{ReadError, attribute};

/// A driver distinguishes modules, or only their ranks.
const MODULES: [&str; 2] = ["dimm", "rank"];

/// The controllers below the root of sysfs, by number. None if no EDAC driver is loaded.
pub fn controllers(sys: &Path) -> Result<Vec<(u32, PathBuf)>, ReadError> {
    attribute::numbered(&sys.join("devices/system/edac/mc"), "mc")
}

/// Reads the controller whose directory this is; `None` if it is gone.
pub fn read(directory: &Path) -> Result<Option<Controller>, ReadError> {
    // The first attribute shows that access is denied; the others are then as silent as those that are not supported.
    if attribute::text(&directory.join("mc_name"))?.is_none() && !directory.is_dir() {
        return Ok(None);
    }
    let modules = modules(directory)?;
    let names = match modules.is_empty() {
        // The rows of old drivers do not add up to what the controller counts: the controller's count is used.
        true => ["ce_count", "ue_count"],
        false => ["ce_noinfo_count", "ue_noinfo_count"],
    };
    let counting_secs = attribute::number(&directory.join("seconds_since_reset"));
    Ok(Some(Controller { modules, unplaced: errors(directory, names), counting_secs }))
}

fn modules(directory: &Path) -> Result<Vec<Module>, ReadError> {
    let mut found = Vec::new();
    for kind in MODULES {
        let directories = attribute::numbered(directory, kind)?;
        found.extend(directories.into_iter().map(|(number, path)| module(format!("{kind}{number}"), &path)));
    }
    Ok(found)
}

fn module(slot: String, directory: &Path) -> Module {
    let label = attribute::text(&directory.join("dimm_label")).ok().flatten().unwrap_or_default();
    Module {
        slot,
        label: label.trim().to_owned(),
        megabytes: attribute::number(&directory.join("size")),
        errors: errors(directory, ["dimm_ce_count", "dimm_ue_count"]),
    }
}

fn errors(directory: &Path, [corrected, uncorrected]: [&str; 2]) -> Errors {
    Errors { corrected: counter(&directory.join(corrected)), uncorrected: counter(&directory.join(uncorrected)) }
}

/// EDAC counts in 32 bits: what is larger is no count.
fn counter(path: &Path) -> Option<u64> {
    attribute::number(path).filter(|count| *count <= u64::from(u32::MAX))
}
