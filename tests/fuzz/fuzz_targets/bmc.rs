//! See `nodewell_power::fuzzing::bmc`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nodewell_power::fuzzing::bmc(input));
