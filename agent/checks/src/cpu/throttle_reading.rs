//! How often CPUs were throttled: `cpu*/thermal_throttle` (Documentation/ABI/testing/sysfs-devices-system-cpu).

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::reading::ThrottleReading;
use crate::probe::attribute;

/// The counters of one package or core, which each of its CPUs shows.
#[derive(Debug, Default, Clone, Copy)]
struct Counted {
    events: u64,
    millis: Option<u64>,
}

/// What is known of one package.
#[derive(Debug, Default)]
struct Package {
    cpus: u32,
    own: Counted,
    cores: BTreeMap<u64, Counted>,
}

/// Reads the counters of each package from the directories of its CPUs; none where the CPU does not count.
pub(super) fn read(cpus: &[(u32, PathBuf)]) -> Vec<ThrottleReading> {
    let mut packages: BTreeMap<u32, Package> = BTreeMap::new();
    for (_, cpu) in cpus {
        let Some(core) = counted(cpu, "core") else { continue };
        let topology = |name: &str| attribute::number(&cpu.join("topology").join(name));
        let id = topology("physical_package_id").and_then(|id| u32::try_from(id).ok()).unwrap_or(0);
        let package = packages.entry(id).or_default();
        package.cpus += 1;
        package.own.join(counted(cpu, "package").unwrap_or_default());
        // Dies of one package number their cores each for itself.
        let die = topology("die_id").unwrap_or(0);
        package.cores.entry(die << 32 | topology("core_id").unwrap_or(0)).or_default().join(core);
    }
    packages.into_iter().map(|(id, package)| package.reading(id)).collect()
}

fn counted(cpu: &Path, of: &str) -> Option<Counted> {
    let counter = |name: &str| attribute::number(&cpu.join("thermal_throttle").join(format!("{of}_throttle_{name}")));
    Some(Counted { events: counter("count")?, millis: counter("total_time_ms") })
}

impl Counted {
    /// Siblings show the same counter, one perhaps a little later than the other.
    fn join(&mut self, other: Self) {
        *self = Self { events: self.events.max(other.events), millis: self.millis.max(other.millis) };
    }
}

impl Package {
    fn reading(&self, package: u32) -> ThrottleReading {
        let all = || self.cores.values().chain([&self.own]);
        let events = all().fold(0, |sum: u64, counted| sum.saturating_add(counted.events));
        let millis = all().filter_map(|counted| counted.millis).reduce(u64::saturating_add);
        ThrottleReading { package, cpus: self.cpus, events, millis }
    }
}
