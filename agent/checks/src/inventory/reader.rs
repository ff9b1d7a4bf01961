//! Reads the hardware of this boot, in a worker.

use nodewell_model::inventory::{Component, ComponentClass};

use super::{
    dmi, facts,
    pci::{self, FirmwareOf},
    reading::{ALL, InventoryReading},
    storage::{self, Storage},
};
use crate::{
    cpu::list::CpuSet,
    probe::{RawReading, ReadError, Reader, Roots, attribute},
};

/// Reads; in a worker.
#[derive(Debug)]
pub struct InventoryReader {
    roots: Roots,
    firmware_of: FirmwareOf,
}

impl InventoryReader {
    #[must_use]
    pub fn new(roots: Roots) -> Self {
        Self { roots, firmware_of: |interface| nodewell_sys::ethtool::firmware(interface).ok() }
    }

    /// One whose interfaces are not this host's.
    #[cfg(test)]
    pub(super) fn with_firmware(roots: Roots, firmware_of: FirmwareOf) -> Self {
        Self { roots, firmware_of }
    }

    fn reading(&self) -> InventoryReading {
        let facts = facts::read(&self.roots);
        let tables = dmi::table(&self.roots.sys);
        let is_virtual = facts::is_virtual(&self.roots, &facts, tables.as_deref());
        let uuid = facts::uuid(&self.roots);
        let mut reading = InventoryReading { is_virtual, uuid, facts, ..InventoryReading::default() };
        let modules = tables.as_deref().and_then(dmi::modules);
        reading.add(ComponentClass::Memory, self.memory(is_virtual, modules.as_deref()));
        // Those of a virtual machine are as many as its memory needs.
        reading.add(ComponentClass::MemoryModule, modules.filter(|_| !is_virtual));
        reading.add(ComponentClass::Cpu, self.cpus());
        if let Some(Storage { disks, hidden }) = storage::read(&self.roots.sys) {
            reading.hidden = hidden;
            reading.add(ComponentClass::Disk, Some(disks));
        }
        for (class, components) in pci::functions(&self.roots.sys, self.firmware_of).into_iter().flatten() {
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

    /// `MemTotal`, which is in KiB (Documentation/filesystems/proc.rst), and what is set aside for the kernel of a crash, in
    /// bytes (Documentation/ABI/testing/sysfs-kernel-kexec-kdump): that is a setting.
    fn managed_mebibytes(&self) -> Option<u64> {
        if self.is_limited(&["mem=", "memmap="]) {
            return None;
        }
        let set_aside = attribute::number(&self.roots.sys.join("kernel/kexec_crash_size")).unwrap_or_default();
        let text = attribute::text(&self.roots.proc.join("meminfo")).ok()??;
        let value = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
        Some(kibibytes / 1024 + (set_aside >> 20))
    }

    /// Whether a person lets the kernel use less than there is (Documentation/admin-guide/kernel-parameters.txt).
    fn is_limited(&self, parameters: &[&str]) -> bool {
        let line = attribute::text(&self.roots.proc.join("cmdline")).ok().flatten().unwrap_or_default();
        line.split_ascii_whitespace().any(|word| parameters.iter().any(|limit| word.starts_with(limit)))
    }

    /// Those that are plugged in, switched off or not (Documentation/admin-guide/cputopology.rst).
    fn cpus(&self) -> Option<Vec<Component>> {
        if self.is_limited(&["nr_cpus=", "possible_cpus=", "maxcpus=", "nosmp"]) {
            return None;
        }
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
