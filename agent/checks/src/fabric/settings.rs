//! `[fabric]`: which ports are looked at, and which have to be up.

use std::time::Duration;

use nodewell_settings::{
    Key, Table,
    kind::{Globs, Strings},
};
use serde::{Deserialize, Serialize};

use crate::probe::settings::{INTERVAL, enabled, interval};

/// The values of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FabricSettings {
    pub enabled: bool,
    pub interval: Duration,
    pub expected: Vec<String>,
    pub ignore: Vec<String>,
}

impl Table for FabricSettings {
    const NAME: &'static str = "[fabric]";
    const ABOUT: &'static str = "Ports of InfiniBand and RoCE.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            enabled(|it| &mut it.enabled),
            interval(|it| &mut it.interval, INTERVAL),
            Self::key("expected", |it| &mut it.expected, Strings)
                .help("Ports that have to be up, such as mlx5_0/1; if none is named, those that were up once.")
                .example(r#"["mlx5_0/1"]"#),
            Self::key("ignore", |it| &mut it.ignore, Globs)
                .help("Ports that are not judged.")
                .example(r#"["mlx5_3/*"]"#),
        ]
    }
}

impl Default for FabricSettings {
    fn default() -> Self {
        // A flap is down for some 25 s: seen in between.
        Self { enabled: true, interval: Duration::from_secs(10), expected: Vec::new(), ignore: Vec::new() }
    }
}
