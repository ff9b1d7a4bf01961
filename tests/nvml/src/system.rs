//! The library as a whole: beginning, end, versions, the list of devices.

use std::{
    ffi::{CStr, c_char, c_uint},
    sync::{Mutex, PoisonError},
};

use crate::{
    answer::{self, Code, Handle, INVALID_ARGUMENT, NOT_FOUND, SUCCESS},
    script::Script,
};

/// The GPUs that there were at the start: as the real library, it learns of no other.
static KNOWN: Mutex<Vec<String>> = Mutex::new(Vec::new());

#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlInit_v2() -> Code {
    answer::of_library("nvmlInit_v2", |script| {
        let addresses = script.gpus.iter().map(|gpu| gpu.address.clone()).collect();
        *KNOWN.lock().unwrap_or_else(PoisonError::into_inner) = addresses;
        SUCCESS
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlInitWithFlags(_flags: c_uint) -> Code {
    answer::of_library("nvmlInitWithFlags", |_| SUCCESS)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlShutdown() -> Code {
    answer::of_library("nvmlShutdown", |_| SUCCESS)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlSystemGetDriverVersion(buffer: *mut c_char, length: c_uint) -> Code {
    let call = "nvmlSystemGetDriverVersion";
    answer::of_library(call, |script| answer::write_text(buffer, length, Some(&script.driver)))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlSystemGetNVMLVersion(buffer: *mut c_char, length: c_uint) -> Code {
    let call = "nvmlSystemGetNVMLVersion";
    answer::of_library(call, |script| answer::write_text(buffer, length, Some(&format!("13.{}", script.library))))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetCount_v2(count: *mut c_uint) -> Code {
    answer::of_library("nvmlDeviceGetCount_v2", |script| {
        answer::write(count, c_uint::try_from(script.gpus.len()).unwrap_or(c_uint::MAX))
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, handle: *mut Handle) -> Code {
    let script = Script::read();
    let gpu = script.gpus.get(index as usize);
    gpu.map_or(INVALID_ARGUMENT, |gpu| answer::give_handle("nvmlDeviceGetHandleByIndex_v2", &gpu.address, handle))
}

/// # Safety
/// `bus_id` is null or a C string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(bus_id: *const c_char, handle: *mut Handle) -> Code {
    if bus_id.is_null() {
        return INVALID_ARGUMENT;
    }
    // SAFETY: not null, and the caller's C string.
    let bus_id = unsafe { CStr::from_ptr(bus_id) }.to_string_lossy();
    let wanted = bus_id.to_lowercase();
    let script = Script::read();
    // NVML writes the domain with eight digits, and takes four as well.
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let mut gpus = script.gpus.iter().filter(|gpu| known.contains(&gpu.address));
    let gpu = gpus.find(|gpu| wanted.ends_with(&gpu.address));
    gpu.map_or(NOT_FOUND, |gpu| answer::give_handle("nvmlDeviceGetHandleByPciBusId_v2", &gpu.address, handle))
}
