//! See `nodewell_hardware::disk::fuzzing`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nodewell_hardware::disk::fuzzing::disk(input));
