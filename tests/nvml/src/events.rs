//! Events: Xids, for clients that registered and wait. A set sees what happens after it was made.

use std::{
    ffi::{c_uint, c_ulonglong},
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use crate::{
    answer::{self, Code, Handle, SUCCESS, TIMEOUT},
    script::Script,
};

/// `nvmlEventTypeXidCriticalError`
const XID: c_ulonglong = 8;

/// `nvmlEventData_t`
#[repr(C)]
pub(crate) struct EventData {
    device: Handle,
    event_type: c_ulonglong,
    event_data: c_ulonglong,
    gpu_instance: c_uint,
    compute_instance: c_uint,
}

/// How many events of the script each set has behind it; its handle is one more than its place.
static SETS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlEventSetCreate(set: *mut usize) -> Code {
    answer::of_library("nvmlEventSetCreate", |script| {
        let mut sets = SETS.lock().unwrap_or_else(PoisonError::into_inner);
        sets.push(script.events.iter().map(|(_, _, times)| times).sum());
        answer::write(set, sets.len())
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlEventSetFree(_set: usize) -> Code {
    answer::of_library("nvmlEventSetFree", |_| SUCCESS)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetSupportedEventTypes(handle: Handle, types: *mut c_ulonglong) -> Code {
    let call = "nvmlDeviceGetSupportedEventTypes";
    answer::of_device(call, handle, |gpu| answer::write(types, if gpu.value("no-events").is_some() { 0 } else { XID }))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceRegisterEvents(handle: Handle, _types: c_ulonglong, _set: usize) -> Code {
    answer::of_device("nvmlDeviceRegisterEvents", handle, |_| SUCCESS)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlEventSetWait_v2(set: usize, data: *mut EventData, timeout_ms: c_uint) -> Code {
    let begun = Instant::now();
    loop {
        let mut taken = None;
        let code = answer::of_library("nvmlEventSetWait_v2", |script| {
            taken = next(set, script);
            SUCCESS
        });
        if code != SUCCESS {
            return code;
        }
        if let Some(event) = taken {
            return answer::write(data, event);
        }
        if begun.elapsed() >= Duration::from_millis(timeout_ms.into()) {
            return TIMEOUT;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// The next event of a set, which is behind it then.
fn next(set: usize, script: &Script) -> Option<EventData> {
    let mut sets = SETS.lock().unwrap_or_else(PoisonError::into_inner);
    let behind = sets.get_mut(set.checked_sub(1)?)?;
    // A new script begins with its own events.
    *behind = (*behind).min(script.events.iter().map(|(_, _, times)| times).sum());
    let mut left = *behind;
    for (address, xid, times) in &script.events {
        if left < *times {
            *behind += 1;
            let device = answer::handle(address);
            // All ones: neither a GPU instance nor a compute instance.
            let (gpu_instance, compute_instance) = (c_uint::MAX, c_uint::MAX);
            return Some(EventData { device, event_type: XID, event_data: *xid, gpu_instance, compute_instance });
        }
        left -= times;
    }
    None
}
