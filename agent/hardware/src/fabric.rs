//! Fabrics: ports of InfiniBand and RoCE cards that go down, flap, slow down or make errors.

mod counters;
mod judge;
mod link_downs;
mod port;
mod reader;
mod reading;
mod recovery;
mod settings;

pub use judge::FabricJudge;
pub use reader::FabricReader;
pub use reading::{Interface, PortReading, Rate, parse_number, parse_rate};
pub use settings::FabricSettings;
