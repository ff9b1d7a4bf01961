//! `[gpu]`: how many there have to be, and by which library they are asked.

use std::{path::PathBuf, time::Duration};

use nodewell_settings::{
    Key, Table,
    kind::{Maybe, Number, Path},
};
use serde::{Deserialize, Serialize};

use crate::probe::settings::{INTERVAL, enabled, interval};

/// The values of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GpuSettings {
    pub enabled: bool,
    pub interval: Duration,
    pub expected: Option<u32>,
    pub library: Option<PathBuf>,
    pub xids: Option<PathBuf>,
}

impl Table for GpuSettings {
    const NAME: &'static str = "[gpu]";
    const ABOUT: &'static str = "NVIDIA's GPUs, by nodewell-gpu.service.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            enabled(|it| &mut it.enabled),
            interval(|it| &mut it.interval, INTERVAL),
            Self::key("expected", |it| &mut it.expected, Maybe(Number(0..=1024)))
                .help("How many there have to be; if unset, the most ever seen.")
                .example("8"),
            Self::key("library", |it| &mut it.library, Maybe(Path))
                .help("libnvidia-ml.so.1; if unset, where the linker finds it.")
                .example(r#""/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1""#),
            Self::key("xids", |it| &mut it.xids, Maybe(Path))
                .help("Your own words on Xids, over those of the shipped table.")
                .example(r#""/etc/nodewell/xids.toml""#),
        ]
    }
}

impl Default for GpuSettings {
    fn default() -> Self {
        Self { enabled: true, interval: Duration::from_secs(30), expected: None, library: None, xids: None }
    }
}
