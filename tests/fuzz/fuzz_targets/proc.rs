//! See `nodewell_checks::fuzzing`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nodewell_checks::fuzzing::proc(input));
