//! The way out: default routes, interfaces, bonds, tunnels that are larger than what carries them, names that resolve.
//!
//! Ports of InfiniBand and RoCE cards are the fabric monitor's; of their interfaces only damaged packets are judged here.

mod judge;
mod names;
mod reader;
mod reading;
mod routes;
mod settings;

pub use judge::NetworkJudge;
pub use reader::NetworkReader;
pub use settings::NetworkSettings;

/// The devices that the reader lists.
const LINKS: &str = "links";
const DNS: &str = "dns";

#[cfg(test)]
mod tests;
