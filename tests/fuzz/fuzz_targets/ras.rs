//! What the memory and CPU readers read as text: RAS trace events, meminfo, cpuinfo, lists of CPUs.

#![no_main]

use nodewell_checks::{
    cpu::{list::CpuSet, microcode},
    memory::{pages, ras},
};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    for line in text.lines() {
        let _ = ras::parse(line);
    }
    let _ = pages::corrupted_kb(&text);
    let _ = microcode::revisions(&text);
    if let Ok(set) = CpuSet::parse(&text) {
        assert_eq!(CpuSet::parse(&set.to_string()), Ok(set));
    }
});
