//! `libnvidia-ml.so.1` for the tests: the C functions that the GPU monitor calls, scripted by a file.
//!
//! `NODEWELL_FAKE_NVML` names the file; without it, it is `PATH.script` beside the library itself, so that one process
//! can open several copies with a script each. It is looked at in each call; [`script`] documents what stands in it. A
//! driver that is too old for a function is a copy with the function's name blotted out.
// A C library is pointers of its caller's: each is checked for null, and written as `nvml.h` specifies.
#![allow(unsafe_code)]

mod answer;
mod devices;
mod events;
mod fields;
mod script;
mod system;
