//! See `nodewell_agent::fuzzing::replay`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nodewell_agent::fuzzing::replay(input));
