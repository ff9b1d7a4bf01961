//! The clock: whether it is synchronised, how far it is off, whether it was set, and its clock source.

mod daemon;
mod judge;
mod offset;
mod reader;
mod reading;
mod settings;
mod source;

pub use judge::ClockJudge;
pub use reader::ClockReader;
pub use settings::ClockSettings;
