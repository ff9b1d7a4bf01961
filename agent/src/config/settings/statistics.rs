//! `[statistics]`: whether the node's own figures are among the metrics.

use nodewell_rules::document::{Report, Section};

/// What one file or the flags set; `None` where a key is not set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatisticsSettings {
    pub enabled: Option<bool>,
}

pub(super) fn read(file: Section<'_>, report: &mut Report<'_>) -> StatisticsSettings {
    let Some(table) = file.table("statistics", report) else { return StatisticsSettings::default() };
    let section = Section::new("[statistics]", table, &["enabled"], report);
    StatisticsSettings { enabled: section.boolean("enabled", report) }
}

impl StatisticsSettings {
    /// Both merged; `later` overrides.
    pub(super) fn merged(self, later: Self) -> Self {
        Self { enabled: later.enabled.or(self.enabled) }
    }
}
