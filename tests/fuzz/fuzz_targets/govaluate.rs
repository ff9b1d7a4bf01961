//! See `nodewell_reaper::fuzzing::govaluate`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nodewell_reaper::fuzzing::govaluate(input));
