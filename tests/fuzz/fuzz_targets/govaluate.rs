//! See `nodewell_remediation::fuzzing::govaluate`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nodewell_remediation::fuzzing::govaluate(input));
