//! `[statistics]`: the node's own figures.

use nodewell_settings::{Key, Table, kind::Bool};

/// The values of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatisticsConfig {
    pub enabled: bool,
}

impl Table for StatisticsConfig {
    const NAME: &'static str = "[statistics]";
    const ABOUT: &'static str = "The node's own figures: load, memory, disks, network, filesystems.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            Self::key("enabled", |it| &mut it.enabled, Bool)
                .help("Whether they are among the metrics; false where node_exporter exports the same."),
        ]
    }
}

impl Default for StatisticsConfig {
    fn default() -> Self {
        Self { enabled: true }
    }
}
