//! Which microcode each CPU runs: `/proc/cpuinfo` of x86. Other architectures have no such line.

use std::collections::{BTreeMap, BTreeSet};

use super::{list::CpuSet, reading::Microcode};

/// The revisions in `cpuinfo`, each with its CPUs.
#[must_use]
pub fn revisions(cpuinfo: &str) -> Vec<Microcode> {
    let mut found: BTreeMap<(String, String), BTreeSet<u32>> = BTreeMap::new();
    for (cpu, kind, revision) in cpuinfo.split("\n\n").filter_map(block) {
        found.entry((kind, revision)).or_default().insert(cpu);
    }
    let entry = |((kind, revision), cpus)| Microcode { kind, revision, cpus: CpuSet(cpus) };
    found.into_iter().map(entry).collect()
}

/// The number, kind and revision of one CPU.
fn block(block: &str) -> Option<(u32, String, String)> {
    let value = |key: &str| {
        let lines = block.lines().filter_map(|line| line.split_once(':'));
        lines.map(|(name, value)| (name.trim(), value.trim())).find(|(name, _)| *name == key).map(|(_, value)| value)
    };
    let kind = format!("{}/{}/{}", value("cpu family")?, value("model")?, value("stepping")?);
    Some((value("processor")?.parse().ok()?, kind, value("microcode")?.to_owned()))
}
