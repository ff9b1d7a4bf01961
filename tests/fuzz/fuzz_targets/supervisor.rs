//! See `nodewell_power::fuzzing::supervisor`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nodewell_power::fuzzing::supervisor(input));
