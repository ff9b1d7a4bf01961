//! SXids: the numbers that NVIDIA's driver gives the errors of NVSwitches, in the kernel log and the fabric manager's.

mod line;
#[cfg(test)]
mod tests;

use std::{path::Path, sync::LazyLock};

pub use self::line::Line;
use crate::codes::{Codes, Meaning, OverrideError, Overrides};

/// What its reasons begin with.
pub(crate) const PREFIX: &str = "NvSwitchSXid";
const TEXT: &str = include_str!("../tables/sxid.toml");

/// What SXids mean: the shipped table, or that with an operator's overrides.
#[derive(Debug, Clone)]
pub struct Table(Codes);

impl Table {
    /// The table that is part of the program.
    ///
    /// # Panics
    /// If the table is not one: a bug that tests find.
    #[must_use]
    pub fn shipped() -> &'static Self {
        static SHIPPED: LazyLock<Table> =
            LazyLock::new(|| Table(Codes::read(PREFIX, TEXT).expect("the shipped table is sound")));
        &SHIPPED
    }

    pub(crate) fn merged(&self, overrides: &Overrides, path: &Path) -> Result<Self, OverrideError> {
        self.0.merged(&overrides.sxid, path).map(Self)
    }

    /// What `code` means, and how the line's own severity changes that.
    #[must_use]
    pub fn classify(&self, code: u32, is_fatal: Option<bool>) -> Meaning {
        let meaning = self.0.classify(code, None);
        match is_fatal {
            Some(is_fatal) => meaning.with_fatal(is_fatal),
            None => meaning,
        }
    }

    /// The codes themselves, for listing and look-up.
    #[must_use]
    pub fn codes(&self) -> &Codes {
        &self.0
    }
}
