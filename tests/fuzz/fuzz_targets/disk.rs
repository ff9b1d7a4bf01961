//! See `nodewell_checks::disk::fuzzing`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nodewell_checks::disk::fuzzing::disk(input));
