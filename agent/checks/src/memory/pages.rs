//! Pages that the kernel took out of use: `HardwareCorrupted` in meminfo and each node's `memory_failure` counters.

use std::path::Path;

use super::reading::Whole;
use crate::probe::{ReadError, attribute};

/// Reads both; a kernel without memory failure handling has neither.
pub fn read(proc: &Path, sys: &Path) -> Result<Whole, ReadError> {
    let meminfo = attribute::text(&proc.join("meminfo"))?.unwrap_or_default();
    let lost_pages = lost_pages(&sys.join("devices/system/node"))?;
    Ok(Whole { corrupted_kb: corrupted_kb(&meminfo), lost_pages, events: Vec::new() })
}

/// `HardwareCorrupted:     4 kB`
pub fn corrupted_kb(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("HardwareCorrupted:"))?;
    line.trim().strip_suffix("kB")?.trim_end().parse().ok()
}

/// `total` counts each page once, whatever became of it (mm/memory-failure.c `update_per_node_mf_stats`, 6.3).
fn lost_pages(nodes: &Path) -> Result<Option<u64>, ReadError> {
    let nodes = attribute::numbered(nodes, "node")?;
    let totals = nodes.iter().filter_map(|(_, node)| attribute::number(&node.join("memory_failure/total")));
    Ok(totals.reduce(u64::saturating_add))
}
