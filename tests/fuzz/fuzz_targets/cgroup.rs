//! See `nodewell_agent::fuzzing::cgroup`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nodewell_agent::fuzzing::cgroup(input));
