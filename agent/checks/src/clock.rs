//! The clock: whether somebody keeps it, how far it is off, whether it was set, and what it counts by.

mod judge;
mod keeper;
mod offset;
mod reader;
mod reading;
mod source;

pub use judge::ClockJudge;
pub use reader::ClockReader;
