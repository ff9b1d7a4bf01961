//! Fabrics: ports of InfiniBand and RoCE cards that go down, flap, slow down or make errors.

mod counters;
mod judge;
mod link_downs;
mod port;
mod reader;
mod reading;
mod recovery;

pub use judge::FabricJudge;
pub use reader::FabricReader;
pub use reading::{Interface, PortReading, Rate, parse_number, parse_rate};
