//! GPUs: NVIDIA's by its management library and the PCI bus, AMD's by its driver's counters in sysfs.
//!
//! A GPU is known by its PCI address, which a reset does not change as it may change the index. NVML is opened in the
//! worker when the first GPU is asked, never to list them: a library that hangs silences GPUs one by one, and the bus
//! still shows which of them are off it.

mod bus;
mod judge;
mod library;
mod probe;
mod ras;
mod reader;
mod reading;
mod settings;

pub use judge::GpuJudge;
pub use reader::GpuReader;
pub use reading::{
    Access, DeviceReading, DriverReading, Ecc, FabricState, GpuReading, Identity, Mig, Remap, Retired, Vendor, XidEvent,
};
pub use settings::GpuSettings;

use std::time::Duration;

use nodewell_settings::Part;

use crate::{
    Settings,
    check::{Check, WorkerGroup},
};

/// As the list of checks has it.
pub static CHECK: Check = Check {
    name: "gpu",
    worker_group: WorkerGroup::Gpu,
    table: || Part::of(|all: &mut Settings| &mut all.gpu),
    is_enabled: |all| all.gpu.enabled,
    interval: |all| all.gpu.interval,
    deadline: |_| Duration::from_secs(15),
    reader: |roots, all| Box::new(GpuReader::new(roots, &all.gpu)),
    judge: |all, _| Box::new(GpuJudge::new(all.gpu.clone())),
};

/// NVIDIA's driver as a device: a mismatch with its library, GPUs that are missing and have no address. It is the name
/// of the kernel's module.
pub const DRIVER: &str = "nvidia";
