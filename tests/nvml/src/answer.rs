//! What each call does first: hang or fail as the script specifies, find the device that a handle means.

use std::{
    ffi::{c_char, c_uint},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use crate::script::{Gpu, Script};

/// `nvmlReturn_t`
pub(crate) type Code = c_uint;
pub(crate) const SUCCESS: Code = 0;
pub(crate) const INVALID_ARGUMENT: Code = 2;
pub(crate) const NOT_SUPPORTED: Code = 3;
pub(crate) const NOT_FOUND: Code = 6;
pub(crate) const INSUFFICIENT_SIZE: Code = 7;
pub(crate) const TIMEOUT: Code = 10;
pub(crate) const LOST: Code = 15;
pub(crate) const VERSION_MISMATCH: Code = 25;

/// `nvmlDevice_t`: one more than the place of its address among all that were ever asked for, so that a handle means the
/// same GPU whatever its index is.
pub(crate) type Handle = usize;

static HANDLES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Answers a call that is about no device.
pub(crate) fn of_library(call: &str, answer: impl FnOnce(&Script) -> Code) -> Code {
    let script = script_when_free(call, None);
    script.failure(call, None).unwrap_or_else(|| answer(&script))
}

/// Answers a call about the device of a handle.
pub(crate) fn of_device(call: &str, handle: Handle, answer: impl FnOnce(&Gpu) -> Code) -> Code {
    let Some(address) = address(handle) else { return INVALID_ARGUMENT };
    let script = script_when_free(call, Some(&address));
    if let Some(code) = script.failure(call, Some(&address)) {
        return code;
    }
    // It was there when its handle was given out.
    script.gpu(&address).map_or(LOST, answer)
}

/// Gives out the handle of an address, unless the script specifies that this fails.
pub(crate) fn give_handle(call: &str, address: &str, handle: *mut Handle) -> Code {
    let script = script_when_free(call, Some(address));
    if let Some(code) = script.failure(call, Some(address)) {
        return code;
    }
    write(handle, self::handle(address))
}

pub(crate) fn handle(address: &str) -> Handle {
    let mut handles = HANDLES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = handles.iter().position(|known| known == address);
    let place = known.unwrap_or_else(|| {
        handles.push(address.to_owned());
        handles.len() - 1
    });
    place + 1
}

fn address(handle: Handle) -> Option<String> {
    let handles = HANDLES.lock().unwrap_or_else(PoisonError::into_inner);
    handles.get(handle.checked_sub(1)?).cloned()
}

/// Puts a value where the caller wants it.
pub(crate) fn write<T>(place: *mut T, value: T) -> Code {
    if place.is_null() {
        return INVALID_ARGUMENT;
    }
    // SAFETY: not null, and nvml.h has the caller hand in a place for one value of this type.
    unsafe { place.write(value) };
    SUCCESS
}

/// A value that the GPU may not support.
pub(crate) fn write_known<T>(place: *mut T, value: Option<T>) -> Code {
    value.map_or(NOT_SUPPORTED, |value| write(place, value))
}

/// Text with its closing zero.
pub(crate) fn write_text(buffer: *mut c_char, length: c_uint, text: Option<&str>) -> Code {
    let Some(text) = text else { return NOT_SUPPORTED };
    if buffer.is_null() || text.len() >= length as usize {
        return INSUFFICIENT_SIZE;
    }
    // SAFETY: the caller promises that `length` bytes are there, and the text is shorter.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), buffer, text.len());
        buffer.add(text.len()).write(0);
    }
    SUCCESS
}

/// The script, once it no longer specifies that this call hangs.
fn script_when_free(call: &str, address: Option<&str>) -> Arc<Script> {
    loop {
        let script = Script::read();
        if !script.hangs(call, address) {
            return script;
        }
        thread::sleep(Duration::from_millis(20));
    }
}
