//! Exit codes as sysexits.h has them: what scripts and units see of every program.

pub const USAGE: u8 = 64;
pub const DATA: u8 = 65;
/// What was named is not there.
pub const NO_INPUT: u8 = 66;
/// No agent, or no API server, answers.
pub const UNAVAILABLE: u8 = 69;
pub const SOFTWARE: u8 = 70;
pub const TEMPORARY: u8 = 75;
pub const NO_PERMISSION: u8 = 77;
pub const CONFIG: u8 = 78;
