//! `[network]`: what of the way out is looked at, and what is too much.

use std::{path::PathBuf, time::Duration};

use crate::probe::settings::{INTERVAL, enabled, interval};
use nodewell_settings::{
    Key, Kind, Report, Schema, Section, Table,
    kind::{Bool, Globs, Maybe, Number, Strings, Time},
};
use serde::{Deserialize, Serialize};

/// What is waited for longer is a report and no alarm.
const WAITS: Time = Time::ANY.to(Duration::from_hours(1));
/// Each is asked in turn until one is answered: more cost time and prove nothing.
const MOST_NAMES: usize = 4;

/// The values of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworkSettings {
    pub enabled: bool,
    pub interval: Duration,
    pub ignore: Vec<String>,
    pub default_route: bool,
    pub for_duration: Duration,
    pub flaps_per_hour: u32,
    pub errors_per_minute: u32,
    pub errors_per_million: u32,
    pub names: Option<Vec<String>>,
    pub dns_failures: u32,
    /// Where the API server's name may stand: the first that is there counts.
    pub kubeconfigs: Vec<PathBuf>,
}

impl Table for NetworkSettings {
    const NAME: &'static str = "[network]";
    const ABOUT: &'static str = "The way out: interfaces, the default route, names.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            enabled(|it| &mut it.enabled),
            interval(|it| &mut it.interval, INTERVAL),
            Self::key("ignore", |it| &mut it.ignore, Globs)
                .help("Interfaces, bonds and tunnels that are not judged.")
                .example(r#"["enp9s0*"]"#),
            Self::key("default-route", |it| &mut it.default_route, Bool)
                .help("Whether a default route that was there and is gone is a fault."),
            Self::key("for", |it| &mut it.for_duration, WAITS)
                .help("What has to be gone for so long to be missed, and back for as long to be healthy."),
            // One would be a cable that was moved once.
            Self::key("flaps-per-hour", |it| &mut it.flaps_per_hour, Number(2..=100_000))
                .help("Losses of the carrier within an hour that make it a problem."),
            Self::key("errors-per-minute", |it| &mut it.errors_per_minute, Number(1..=100_000_000))
                .help("Damaged packets, on average of five minutes: as many as this, and as large a part as the next."),
            Self::key("errors-per-million", |it| &mut it.errors_per_million, Number(1..=1_000_000))
                .help("Damaged packets of a million."),
            Self::key("names", |it| &mut it.names, Maybe(Names))
                .help(
                    "What is asked of the node's resolver; if unset, the API server's name, if it has one; none: \
                     nothing.",
                )
                .example(r#"["registry.example.net"]"#),
            Self::key("dns-failures", |it| &mut it.dns_failures, Number(1..=1000))
                .help("Rounds without any answer that make it a problem."),
        ]
    }
}

/// Names that a resolver could be asked for.
struct Names;

impl Kind for Names {
    type Of = Vec<String>;

    fn read(&self, section: Section<'_>, key: &'static str, report: &mut Report<'_>) -> Option<Vec<String>> {
        let names = Strings.read(section, key, report)?;
        for name in names.iter().filter(|name| !is_name(name)) {
            report.error(section.position(key), format!("{name:?} is no name that a resolver could be asked for"));
        }
        if names.len() > MOST_NAMES {
            let refusal = format!("{key:?} takes {MOST_NAMES} at most; one that is answered is enough");
            report.error(section.position(key), refusal);
        }
        Some(names)
    }

    fn shown(&self, value: &Vec<String>) -> Option<String> {
        Strings.shown(value)
    }

    fn takes(&self) -> String {
        format!("a list of up to {MOST_NAMES} names")
    }

    fn schema(&self) -> Schema {
        Schema::strings(Schema::Text("^[A-Za-z0-9._-]+$"), 0..=MOST_NAMES)
    }
}

/// RFC 1123 2.1, with underscores as some zones have them; an address needs no resolver.
fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    let is_address = name.parse::<std::net::IpAddr>().is_ok();
    (1..=253).contains(&name.len()) && name.bytes().all(is_part) && !is_address
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
