//! See `nodewell_agent::fuzzing::plugin`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nodewell_agent::fuzzing::plugin(input));
