//! What hardware's codes mean: tables as data, read once when they are first needed, and the decoders that go with them.
//!
//! The rules use it for lines of the kernel log, the monitors for what devices report, `nodewell explain` for people:
//! all three agree.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod advice;
pub mod branch;
mod catalogue;
pub mod codes;
pub mod decode;
pub mod host;
pub mod message;
pub mod nvlink5;
pub mod pci;
pub mod reason;
pub mod smart;
pub mod sxid;
pub mod xid;

pub use branch::Branch;
pub use decode::{Decoded, Decoder, Tables};
pub use host::Host;
pub use message::{message, messages};
pub use reason::Reason;
