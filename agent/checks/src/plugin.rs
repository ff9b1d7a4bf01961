//! Plug-ins: whether a program may be run, where it runs, when, what its end means, and what of that is reported. The
//! check process runs it.

pub mod enclosure;
pub mod machine;
pub mod program;
pub mod result;
pub mod schedule;
pub mod strays;

pub use enclosure::{Enclosure, Limits, Room};
pub use machine::Machine;
pub use program::{Program, Refused};
pub use result::{Ending, PluginStatus, RunResult, judge};
pub use schedule::Schedule;
pub use strays::Strays;
