//! See `nodewell_remediation::fuzzing::methods`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nodewell_remediation::fuzzing::methods(input));
