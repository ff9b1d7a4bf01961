//! Reads the hardware of this boot, in a worker.

use nodewell_model::hardware::{Component, ComponentClass};

use super::{
    dmi, facts, pci,
    reading::{ALL, InventoryReading},
    storage,
};
use crate::{
    cpu::list::CpuSet,
    probe::{RawReading, ReadError, Reader, Roots, attribute},
};

/// Reads; in a worker.
#[derive(Debug)]
pub struct InventoryReader {
    roots: Roots,
}

impl InventoryReader {
    #[must_use]
    pub fn new(roots: Roots) -> Self {
        Self { roots }
    }

    fn reading(&self) -> InventoryReading {
        let facts = facts::read(&self.roots);
        let is_virtual = facts::is_virtual(&self.roots, &facts);
        let mut reading = InventoryReading { is_virtual, facts, ..InventoryReading::default() };
        let modules = dmi::modules(&self.roots.sys);
        reading.add(ComponentClass::Memory, self.memory(is_virtual, modules.as_deref()));
        // Those of a virtual machine are as many as its memory needs.
        reading.add(ComponentClass::MemoryModule, modules.filter(|_| !is_virtual));
        reading.add(ComponentClass::Cpu, self.cpus());
        reading.add(ComponentClass::Disk, storage::disks(&self.roots.sys));
        for (class, components) in pci::functions(&self.roots.sys).into_iter().flatten() {
            reading.add(class, Some(components));
        }
        reading
    }

    /// What the kernel manages. In a virtual machine a balloon takes of that while it runs: there it is what the firmware
    /// reports to be plugged in.
    fn memory(&self, is_virtual: bool, modules: Option<&[Component]>) -> Option<Vec<Component>> {
        let amount = match is_virtual {
            true => modules?.iter().map(|module| module.amount).fold(0, u64::saturating_add),
            false => self.managed_mebibytes()?,
        };
        (amount > 0).then(|| vec![Component { amount, ..Component::default() }])
    }

    /// `MemTotal`, which is in KiB (Documentation/filesystems/proc.rst).
    fn managed_mebibytes(&self) -> Option<u64> {
        let text = attribute::text(&self.roots.proc.join("meminfo")).ok()??;
        let value = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
        Some(kibibytes / 1024)
    }

    /// Those that are plugged in, switched off or not (Documentation/admin-guide/cputopology.rst).
    fn cpus(&self) -> Option<Vec<Component>> {
        let text = attribute::text(&self.roots.sys.join("devices/system/cpu/present")).ok()??;
        let amount = CpuSet::parse(&text).ok()?.0.len() as u64;
        (amount > 0).then(|| vec![Component { amount, ..Component::default() }])
    }
}

impl Reader for InventoryReader {
    fn list(&mut self) -> Result<Vec<String>, ReadError> {
        match facts::is_elsewhere(&self.roots) {
            true => Err(ReadError::Gone { what: "hardware of its own".to_owned() }),
            false => Ok(vec![ALL.to_owned()]),
        }
    }

    fn read(&mut self, device: &str) -> Result<RawReading, ReadError> {
        match device {
            ALL => RawReading::of(&self.reading()),
            _ => Err(ReadError::Gone { what: device.to_owned() }),
        }
    }
}
