//! `[network]`: what of the way out is looked at, and what is too much.

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

/// `[network]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworkSettings {
    pub enabled: bool,
    pub interval: Duration,
    /// Globs of interfaces, bonds and tunnels that are not judged.
    pub ignore: Vec<String>,
    /// Whether a default route that was there and is gone is a fault.
    pub default_route: bool,
    /// What has to be gone for so long to be missed, and back for as long to be healthy.
    pub for_duration: Duration,
    /// Losses of the carrier within an hour that make it a problem.
    pub flaps_per_hour: u32,
    /// Damaged packets, on average of five minutes: as many as this …
    pub errors_per_minute: u32,
    /// … and as large a part of all packets.
    pub errors_per_million: u32,
    /// What is asked of the node's resolver; not set: the API server's name, if it has one; none: nothing.
    pub names: Option<Vec<String>>,
    /// Rounds without any answer that make it a problem.
    pub dns_failures: u32,
    /// Where the API server's name may stand: the first that is there counts.
    pub kubeconfigs: Vec<PathBuf>,
}

impl Default for NetworkSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            // Two looks within the time that a link may be down.
            interval: Duration::from_secs(15),
            ignore: Vec::new(),
            default_route: true,
            // Spanning tree without fast ports, and a DHCP client that starts over, take as long.
            for_duration: Duration::from_secs(30),
            // Setting up an interface (packet size, queues, a bond) takes the carrier away some few times.
            flaps_per_hour: 5,
            // A sound copper link makes less than one damaged bit in 10^10 (IEEE 802.3): at 1 Gb/s less than six a minute,
            // and much less than one packet of a thousand at any rate.
            errors_per_minute: 10,
            errors_per_million: 1000,
            names: None,
            dns_failures: 3,
            kubeconfigs: Vec::new(),
        }
    }
}
