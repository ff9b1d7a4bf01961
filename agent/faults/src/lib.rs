//! What hardware's codes mean: tables as data, read once when they are first needed, and the decoders that go with them.
//!
//! The rules use it for lines of the kernel log, the monitors for what devices say, `nodewell explain` for people: all
//! three say the same.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod reason;

pub use reason::Reason;
