//! What every check is made of: readers that ask how things are, and judges that decide what it means.
//!
//! A [`Reader`] runs in a worker process, because what it calls may never return. A [`Judge`] runs in the check process
//! that supervises the worker: it is pure, and remembers what a verdict needs.

pub mod attribute;
pub mod boot_history;
pub mod clock;
pub mod debounce;
pub mod device_file;
pub mod flapping;
pub mod growth;
pub mod judge;
pub mod last_saved;
mod raw_reading;
pub mod reader;
pub mod roots;
pub mod settings;
pub mod unknown;
pub mod verdict;

pub use judge::{Answer, Judge, NoAnswer, Now, PollError, Round};
pub use raw_reading::RawReading;
pub use reader::{ReadError, Reader};
pub use roots::Roots;
pub use unknown::{UnknownReason, unknown};
pub use verdict::{DeviceEvent, Fault, Findings, RecoveryEvidence, State, Verdict};
