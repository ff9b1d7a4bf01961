//! See `nodewell_controller::fuzzing::objects`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nodewell_controller::fuzzing::objects(input));
