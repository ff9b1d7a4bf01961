//! Filesystems: free space, errors, servers that do not answer.
//!
//! mountinfo lists them, and hangs at nothing; what is asked of a filesystem or of a server is one question each,
//! because its answer may never come.

pub mod device;
mod errors;
mod fstab;
mod fullness;
mod history;
mod judge;
mod kind;
pub mod mountinfo;
mod reader;
mod reading;
mod rough_bytes;
mod settings;
mod table;

pub use judge::MountsJudge;
pub use reader::MountsReader;
pub use settings::{MountsSettings, Threshold};
