//! `/proc/modules`: what was loaded into the kernel, and what taints it (kernel/module/procfs.c).
//!
//! Not by the procfs crate, which passes over the taint.

use super::{lines, name};

/// A module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    pub name: String,
    /// `P`: its licence is not the kernel's.
    pub is_proprietary: bool,
    /// `O`: not built with the kernel.
    pub is_out_of_tree: bool,
}

/// Kernels have some hundred.
const MOST: usize = 4096;

pub(super) fn parse(bytes: &[u8]) -> Vec<Module> {
    lines(bytes).filter_map(module).take(MOST).collect()
}

/// `nf_nat 61440 2 xt_MASQUERADE,iptable_nat, Live 0x0000000000000000 (O)`
fn module(line: &str) -> Option<Module> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [module, size, ..] = words[..] else { return None };
    if words.len() < 6 || super::count(size).is_none() {
        return None;
    }
    let taint = words.get(6).filter(|word| word.starts_with('(')).copied().unwrap_or_default();
    Some(Module {
        name: name(module.as_bytes()),
        is_proprietary: taint.contains('P'),
        is_out_of_tree: taint.contains('O'),
    })
}
