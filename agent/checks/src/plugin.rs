//! Plug-ins: whether a program may be run, where it runs, when, what its end means, and what of that is reported. The
//! check process runs it.

pub mod cgroups;
pub mod orphans;
pub mod program;
pub mod result;
pub mod schedule;
pub mod states;

pub use cgroups::{Limits, MemoryKill, Own, PluginCgroups, RunCgroup, undivide_after_main_process};
pub use orphans::Orphans;
pub use program::{Program, ProgramError};
pub use result::{PluginStatus, RunEnd, RunResult, judge};
pub use schedule::Schedule;
pub use states::PluginStates;
