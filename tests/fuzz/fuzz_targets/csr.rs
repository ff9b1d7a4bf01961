//! See `nodewell_approver::fuzzing::csr`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nodewell_approver::fuzzing::csr(input));
