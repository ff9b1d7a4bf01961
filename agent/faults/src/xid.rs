//! Xids: the numbers that NVIDIA's driver gives its GPUs' errors, in the kernel log and through NVML alike.

pub mod history;
mod line;
pub(crate) mod nvlink;
mod recovery;
#[cfg(test)]
mod tests;

use std::{path::Path, sync::LazyLock};

pub use self::{line::Line, recovery::Recovery};
pub use crate::codes::Meaning;
use crate::{
    Branch,
    codes::{Codes, OverrideError, Overrides, overrides},
};

/// What its reasons begin with.
pub(crate) const PREFIX: &str = "GpuXid";
const TEXT: &str = include_str!("../tables/xid.toml");

/// What Xids mean: the shipped table, or that with an operator's overrides.
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

    /// The shipped table with the `[[xid]]` overrides of an operator's file.
    pub fn with_overrides(path: &Path) -> Result<Self, OverrideError> {
        let overrides = Overrides::parse(&overrides::read(path)?, path)?;
        Self::shipped().merged(&overrides, path)
    }

    pub(crate) fn merged(&self, overrides: &Overrides, path: &Path) -> Result<Self, OverrideError> {
        self.0.merged(&overrides.xid, path).map(Self)
    }

    /// What `code` means for a driver of `branch`; an unknown branch is taken for the newest. `None` for zero, which
    /// NVML gives for events that are no Xids.
    #[must_use]
    pub fn classify(&self, code: u32, branch: Option<Branch>) -> Option<Meaning> {
        (code != 0).then(|| self.0.classify(code, branch))
    }

    /// The codes themselves, for listing and look-up.
    #[must_use]
    pub fn codes(&self) -> &Codes {
        &self.0
    }
}

/// Power smoothing is on again, and off.
const POWER_SMOOTHING: (u32, u32) = (162, 163);

/// The Xid whose problem ends with an Xid `code` of the same GPU.
#[must_use]
pub fn ends(code: u32) -> Option<u32> {
    (code == POWER_SMOOTHING.0).then_some(POWER_SMOOTHING.1)
}

/// What `code` means by the shipped table.
#[must_use]
pub fn classify(code: u32, branch: Option<Branch>) -> Option<Meaning> {
    Table::shipped().classify(code, branch)
}
