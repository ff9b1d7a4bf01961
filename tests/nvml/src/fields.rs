//! Values that are asked by number (`nvmlDeviceGetFieldValues`).

use std::ffi::{c_int, c_longlong, c_uint, c_ulonglong};

use crate::answer::{self, Code, Handle, INVALID_ARGUMENT, NOT_SUPPORTED, SUCCESS};

/// `NVML_VALUE_TYPE_UNSIGNED_LONG_LONG`
const UNSIGNED_LONG_LONG: c_uint = 3;

/// `nvmlFieldValue_t`
#[repr(C)]
pub(crate) struct FieldValue {
    field: c_uint,
    scope: c_uint,
    timestamp: c_longlong,
    latency_usec: c_longlong,
    value_type: c_uint,
    code: Code,
    value: c_ulonglong,
}

/// # Safety
/// `values` is null or `count` of them.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn nvmlDeviceGetFieldValues(
    handle: Handle,
    count: c_int,
    values: *mut FieldValue,
) -> Code {
    let count = usize::try_from(count).unwrap_or(0);
    if values.is_null() || count == 0 {
        return INVALID_ARGUMENT;
    }
    // SAFETY: not null, and the caller promises that there are so many.
    let values = unsafe { std::slice::from_raw_parts_mut(values, count) };
    answer::of_device("nvmlDeviceGetFieldValues", handle, |gpu| {
        for value in values {
            let known = gpu.number(&format!("field-{}", value.field), 0);
            value.value_type = UNSIGNED_LONG_LONG;
            value.code = if known.is_some() { SUCCESS } else { NOT_SUPPORTED };
            value.value = known.unwrap_or(0);
        }
        SUCCESS
    })
}
