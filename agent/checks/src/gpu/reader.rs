//! Lists GPUs by the bus, and asks each of NVML or sysfs.

use std::{rc::Rc, time::Duration};

use jiff::Timestamp;
use nvml_wrapper::{Nvml, error::NvmlError};

use super::{
    DRIVER,
    bus::{self, BusGpu},
    library::{Library, OpenError},
    probe, ras,
    reading::{Access, DeviceReading, DriverReading, GpuReading, Identity, Vendor},
};
use crate::{
    gpu::GpuSettings,
    probe::{RawReading, ReadError, Reader, Roots},
};

/// Reads in a worker.
#[derive(Debug)]
pub struct GpuReader {
    roots: Roots,
    library: Library,
    /// NVIDIA's, as the last list has them.
    nvidia: Vec<String>,
}

impl GpuReader {
    #[must_use]
    pub fn new(roots: Roots, settings: &GpuSettings) -> Self {
        Self { roots, library: Library::new(settings.library.clone()), nvidia: Vec::new() }
    }

    fn driver(&mut self) -> Result<DriverReading, ReadError> {
        let read_at = Timestamp::now();
        let Some((version, number)) = bus::module(&self.roots.sys, DRIVER) else { return Err(gone(DRIVER)) };
        // Without a GPU the library may not start; how many are missing is reported all the same.
        let mismatch = !self.nvidia.is_empty() && self.is_mismatch()?;
        self.library.watch(&self.nvidia);
        let (elsewhere, switches) = (self.elsewhere(), bus::switches(&self.roots.sys));
        Ok(DriverReading { version, mismatch, module: Some(number), elsewhere, switches, read_at })
    }

    fn is_mismatch(&mut self) -> Result<bool, ReadError> {
        match self.library.nvml() {
            Ok(_) => Ok(false),
            Err(OpenError::Mismatch) => Ok(true),
            Err(OpenError::Other(error)) => Err(error),
        }
    }

    fn elsewhere(&self) -> Vec<String> {
        let gpus = bus::gpus(&self.roots.sys).into_iter();
        let others = gpus.filter(|gpu| gpu.vendor == Vendor::Nvidia && !is_nvidias(gpu));
        others.map(|gpu| gpu.address).collect()
    }

    fn gpu(&mut self, address: &str) -> Result<GpuReading, ReadError> {
        let sys = &self.roots.sys;
        let read_at = Timestamp::now();
        let by_bus = |access| GpuReading { access, ..GpuReading::default() };
        let reading = if bus::is_asleep(sys, address) {
            by_bus(Access::Asleep)
        } else if bus::is_off_the_bus(sys, address) {
            by_bus(Access::Lost)
        } else if ras::is_counted(sys, address) {
            let missing_file = ras::missing_file(&self.roots, address);
            let identity = Identity { vbios: ras::vbios(sys, address), ..Identity::default() };
            let (vendor, ecc) = (Vendor::Amd, ras::read(sys, address));
            GpuReading { vendor, identity, ecc, missing_file, ..GpuReading::default() }
        } else {
            self.nvidias(address)?
        };
        Ok(GpuReading { read_at, ..reading })
    }

    fn nvidias(&mut self, address: &str) -> Result<GpuReading, ReadError> {
        let mut nvml = self.library.nvml().map_err(OpenError::into_error)?;
        let is_known = |nvml: &Nvml| !matches!(nvml.device_by_pci_bus_id(address), Err(NvmlError::NotFound));
        if !is_known(&nvml) {
            // Every clone has to go, or the library stays open.
            drop(nvml);
            self.library.reopen();
            nvml = self.library.nvml().map_err(OpenError::into_error)?;
        }
        ask(&nvml, address)
    }
}

/// Asks NVML for the GPU at an address; the index may be another after each reset.
fn ask(nvml: &Rc<Nvml>, address: &str) -> Result<GpuReading, ReadError> {
    match nvml.device_by_pci_bus_id(address) {
        Ok(device) => Ok(probe::gpu(&device)),
        Err(NvmlError::NoPermission) => Err(ReadError::Denied { message: format!("{address} is not open to us") }),
        Err(error) => match probe::access_of(&error) {
            Some(access) => Ok(GpuReading { vendor: Vendor::Nvidia, access, ..GpuReading::default() }),
            None => Err(ReadError::Failed { message: format!("nvmlDeviceGetHandleByPciBusId: {error}") }),
        },
    }
}

impl Reader for GpuReader {
    fn list(&mut self) -> Result<Vec<String>, ReadError> {
        self.library.begin_round();
        let sys = &self.roots.sys;
        let has_nvidia = bus::module(sys, DRIVER).is_some();
        let (nvidia, amd): (Vec<_>, Vec<_>) = bus::gpus(sys).into_iter().partition(|gpu| gpu.vendor == Vendor::Nvidia);
        let nvidia = nvidia.into_iter().filter(|gpu| has_nvidia && is_nvidias(gpu));
        self.nvidia = nvidia.map(|gpu| gpu.address).collect();
        if !has_nvidia {
            self.library.close();
        }
        let amd = amd.into_iter().filter(|gpu| ras::is_counted(sys, &gpu.address)).map(|gpu| gpu.address);
        let driver = has_nvidia.then(|| DRIVER.to_owned());
        let listed: Vec<_> = driver.into_iter().chain(self.nvidia.iter().cloned()).chain(amd).collect();
        if listed.is_empty() { Err(gone("a GPU's driver")) } else { Ok(listed) }
    }

    fn read(&mut self, device: &str) -> Result<RawReading, ReadError> {
        if device == DRIVER {
            return RawReading::of(&DeviceReading::Driver(self.driver()?));
        }
        if !bus::device(&self.roots.sys, device).exists() {
            return Err(gone(device));
        }
        RawReading::of(&DeviceReading::Gpu(Box::new(self.gpu(device)?)))
    }

    /// Until the first GPU is asked, GPUs are assumed to report Xids.
    fn has_events(&self) -> bool {
        !self.nvidia.is_empty() && !self.library.event_set_failed()
    }

    fn wait(&mut self, within: Duration) -> Result<Vec<RawReading>, ReadError> {
        self.library.xid_events(within)?.iter().map(RawReading::of).collect()
    }
}

/// One without a driver is NVIDIA's as well: its driver gave up on it, or it was unbound for a while.
fn is_nvidias(gpu: &BusGpu) -> bool {
    gpu.driver.as_deref().is_none_or(|driver| driver == DRIVER)
}

fn gone(what: &str) -> ReadError {
    ReadError::Gone { what: what.to_owned() }
}

#[cfg(test)]
mod tests;
