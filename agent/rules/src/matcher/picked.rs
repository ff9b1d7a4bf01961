//! The patterns that a record may match, before it is known whether it does.

use super::steps::Marks;

/// One of them.
#[derive(Clone, Copy)]
pub(crate) struct Picked {
    pub(crate) pattern: u32,
    /// It matches the newest record, and this is where its groups are. `None`: it is not tried yet.
    pub(super) marks: Option<Marks>,
}

/// When a pattern is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trial {
    /// Where it is picked, if steps can tell: by a thread that judges nothing.
    AtOnce,
    /// Where the record is judged. Then many need not be.
    Later,
}

impl Picked {
    pub(crate) fn untried(pattern: u32) -> Self {
        Self { pattern, marks: None }
    }

    pub(crate) fn marks(&self) -> Option<&Marks> {
        self.marks.as_ref()
    }
}
