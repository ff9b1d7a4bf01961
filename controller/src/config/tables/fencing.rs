//! Fence agents and BMCs: where they are, how often they are asked, by which secrets.

use std::time::Duration;

use nodewell_reaper::PLUGINS;
use nodewell_settings::{
    Key, Table,
    kind::{Count, Maybe, Path, Paths, Time},
};

use crate::config::{AGENTS, Fencing};

/// More often locks accounts out, more seldom finds a dead BMC too late.
const PREFLIGHT_INTERVALS: Time = Time::from(Duration::from_mins(1)).to(Duration::from_hours(1));
/// One that is dead occupies its slot for 20 s; a question of an agent's is 30 MiB of memory.
const PREFLIGHT_CONCURRENCY: Count = Count(1..=256);

impl Table for Fencing {
    const NAME: &'static str = "[fencing]";
    const ABOUT: &'static str = "How often a BMC is asked whether its node could be fenced, and how many at once: \
                                 docs/bmc-logins.md has what that costs.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            Self::key("agents-folder", |it| &mut it.agents_folder, Path).help("Where fence agents are."),
            Self::key("preflight-interval", |it| &mut it.preflight_interval, PREFLIGHT_INTERVALS)
                .help("A node that could be fenced has its BMC asked once in so long."),
            Self::key("preflight-concurrency", |it| &mut it.preflight_concurrency, PREFLIGHT_CONCURRENCY)
                .help("BMCs that are asked at the same time."),
            Self::key("secrets-folder", |it| &mut it.secrets_folder, Maybe(Path))
                .help(
                    "Passwords of BMCs in files of this host, each named like its Secret; drop-ins pass them in with \
                     LoadCredential=.",
                )
                .example(r#""/run/credentials/nodewell-controller.service""#),
            Self::key("ca-file", |it| &mut it.ca_file, Maybe(Path))
                .help("Who has signed the BMCs' certificates, if it is no authority of this host's.")
                .example(r#""/etc/nodewell/bmc-ca.pem""#),
            Self::key("plugins", |it| &mut it.plugins, Paths { absolute: false })
                .help("Programs, or folders of programs, that take machines away."),
        ]
    }
}

impl Default for Fencing {
    fn default() -> Self {
        Self {
            agents_folder: AGENTS.into(),
            preflight_interval: Duration::from_mins(10),
            preflight_concurrency: 16,
            secrets_folder: None,
            ca_file: None,
            plugins: vec![PLUGINS.into()],
        }
    }
}
