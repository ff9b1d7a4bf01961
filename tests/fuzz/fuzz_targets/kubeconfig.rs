//! See `nodewell_agent::fuzzing::kubeconfig`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nodewell_agent::fuzzing::kubeconfig(input));
