//! Hardware: readers that ask devices how they are, and judges that decide what it means.
//!
//! A [`Reader`] runs in a worker process, because what it calls may never return. A [`Judge`] runs in the check process
//! that supervises the worker: it is pure, and remembers what a verdict needs.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod attribute;
pub mod clock;
pub mod cpu;
pub mod debounce;
pub mod disk;
pub mod fabric;
pub mod gpu;
pub mod growth;
pub mod judge;
pub mod last_saved;
pub mod memory;
pub mod pcie;
pub mod reader;
pub mod roots;
pub mod settings;
pub mod unknown;
pub mod verdict;

pub use judge::{Answer, Judge, NoAnswer, Now, PollError, Round};
pub use reader::{ReadError, Reader};
pub use roots::Roots;
pub use settings::Settings;
pub use unknown::{UnknownReason, unknown};
pub use verdict::{DeviceEvent, Fault, Findings, RecoveryEvidence, State, Verdict};
