//! What one GPU reports of itself.

use std::ffi::{c_char, c_uint, c_ulonglong};

use crate::{
    answer::{self, Code, Handle, INVALID_ARGUMENT, NOT_SUPPORTED, VERSION_MISMATCH},
    script::Gpu,
};

/// `nvmlPciInfo_t`
#[repr(C)]
pub(crate) struct PciInfo {
    bus_id_legacy: [c_char; 16],
    domain: c_uint,
    bus: c_uint,
    device: c_uint,
    pci_device_id: c_uint,
    pci_sub_system_id: c_uint,
    bus_id: [c_char; 32],
}

/// `nvmlGpuFabricInfo_v2_t`, which the third version only appends to.
#[repr(C)]
pub(crate) struct FabricInfo {
    version: c_uint,
    cluster_uuid: [u8; 16],
    status: Code,
    clique: c_uint,
    state: u8,
    health_mask: c_uint,
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetName(handle: Handle, buffer: *mut c_char, length: c_uint) -> Code {
    text("nvmlDeviceGetName", "name", handle, buffer, length)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetUUID(handle: Handle, buffer: *mut c_char, length: c_uint) -> Code {
    text("nvmlDeviceGetUUID", "uuid", handle, buffer, length)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetSerial(handle: Handle, buffer: *mut c_char, length: c_uint) -> Code {
    text("nvmlDeviceGetSerial", "serial", handle, buffer, length)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetVbiosVersion(handle: Handle, buffer: *mut c_char, length: c_uint) -> Code {
    text("nvmlDeviceGetVbiosVersion", "vbios", handle, buffer, length)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetPciInfo_v3(handle: Handle, info: *mut PciInfo) -> Code {
    answer::of_device("nvmlDeviceGetPciInfo_v3", handle, |gpu| answer::write(info, PciInfo::of(&gpu.address)))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetTotalEccErrors(
    handle: Handle,
    uncorrected: c_uint,
    aggregate: c_uint,
    count: *mut c_ulonglong,
) -> Code {
    answer::of_device("nvmlDeviceGetTotalEccErrors", handle, |gpu| {
        answer::write_known(count, gpu.number("ecc", (uncorrected + 2 * aggregate) as usize))
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetCurrentClocksThrottleReasons(handle: Handle, bits: *mut c_ulonglong) -> Code {
    let call = "nvmlDeviceGetCurrentClocksThrottleReasons";
    answer::of_device(call, handle, |gpu| answer::write_known(bits, gpu.number("slowdown", 0)))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetTotalEnergyConsumption(handle: Handle, energy: *mut c_ulonglong) -> Code {
    let call = "nvmlDeviceGetTotalEnergyConsumption";
    answer::of_device(call, handle, |gpu| answer::write_known(energy, gpu.number("energy", 0)))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetRetiredPagesPendingStatus(handle: Handle, pending: *mut c_uint) -> Code {
    let call = "nvmlDeviceGetRetiredPagesPendingStatus";
    answer::of_device(call, handle, |gpu| answer::write_known(pending, small(gpu, "retire-pending", 0)))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetPersistenceMode(handle: Handle, mode: *mut c_uint) -> Code {
    let call = "nvmlDeviceGetPersistenceMode";
    answer::of_device(call, handle, |gpu| answer::write_known(mode, small(gpu, "persistence", 0)))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetMigMode(handle: Handle, current: *mut c_uint, pending: *mut c_uint) -> Code {
    answer::of_device("nvmlDeviceGetMigMode", handle, |gpu| {
        answer::write_known(current, small(gpu, "mig", 0));
        answer::write_known(pending, small(gpu, "mig", 1))
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetNvLinkState(handle: Handle, link: c_uint, active: *mut c_uint) -> Code {
    answer::of_device("nvmlDeviceGetNvLinkState", handle, |gpu| match gpu.value("links") {
        None => NOT_SUPPORTED,
        Some(links) => match links.as_bytes().get(link as usize) {
            None => INVALID_ARGUMENT,
            Some(state) => answer::write(active, c_uint::from(*state == b'1')),
        },
    })
}

/// # Safety
/// `info` is null or a place for the version that it declares.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn nvmlDeviceGetGpuFabricInfoV(handle: Handle, info: *mut FabricInfo) -> Code {
    answer::of_device("nvmlDeviceGetGpuFabricInfoV", handle, |gpu| {
        if info.is_null() {
            return INVALID_ARGUMENT;
        }
        // SAFETY: not null; every version begins with its number.
        let version = unsafe { (*info).version };
        // The number, and the size of the structure below it. This driver knows the second version only.
        if version != (2 << 24 | 36) {
            return VERSION_MISMATCH;
        }
        FabricInfo::of(gpu, version).map_or(NOT_SUPPORTED, |found| answer::write(info, found))
    })
}

impl PciInfo {
    fn of(address: &str) -> Self {
        let part = |range| address.get(range).and_then(|text| c_uint::from_str_radix(text, 16).ok()).unwrap_or(0);
        let mut bus_id = [0; 32];
        // NVML writes upper-case letters and a domain of eight digits.
        let text = format!("0000{}", address.to_uppercase());
        for (place, byte) in bus_id.iter_mut().zip(text.bytes()) {
            *place = byte as c_char;
        }
        let (domain, bus, device) = (part(0..4), part(5..7), part(8..10));
        Self { bus_id_legacy: [0; 16], domain, bus, device, pci_device_id: 0x2330_10de, pci_sub_system_id: 0, bus_id }
    }
}

impl FabricInfo {
    fn of(gpu: &Gpu, version: c_uint) -> Option<Self> {
        let state = u8::try_from(gpu.number("fabric", 0)?).ok()?;
        let (status, health_mask) = (small(gpu, "fabric", 1)?, small(gpu, "fabric", 2)?);
        Some(Self { version, cluster_uuid: [0; 16], status, clique: 0, state, health_mask })
    }
}

fn text(call: &str, key: &str, handle: Handle, buffer: *mut c_char, length: c_uint) -> Code {
    answer::of_device(call, handle, |gpu| answer::write_text(buffer, length, gpu.value(key)))
}

fn small(gpu: &Gpu, key: &str, part: usize) -> Option<c_uint> {
    gpu.number(key, part).and_then(|number| c_uint::try_from(number).ok())
}
