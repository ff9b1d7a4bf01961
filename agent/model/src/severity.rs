//! How bad a problem is. `level` is for logs; `severity` is for problems.

use serde::{Deserialize, Deserializer, Serialize};

/// Ordered from the mildest to the worst. On the API server `Info` is a Normal event, the others are Warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Info,
    Warn,
    Error,
    Critical,
}

impl Severity {
    /// Every one, from the mildest to the worst.
    pub const ALL: [Self; 4] = [Self::Info, Self::Warn, Self::Error, Self::Critical];

    /// Reads one of a saved row. Of a newer version's word, this version knows that something is wrong, and no more.
    pub fn saved<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        Ok(Self::ALL.into_iter().find(|severity| severity.as_str() == word).unwrap_or(Self::Error))
    }

    /// The name used in JSON and TOML.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
            Self::Critical => "critical",
        }
    }
}

impl std::fmt::Display for Severity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}
