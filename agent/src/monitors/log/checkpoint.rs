//! What a log monitor leaves for its next run, after a panic of its thread or for a reload.

use std::sync::{Arc, Mutex, PoisonError};

use nodewell_model::Origin;

use super::cursors::Cursors;
use crate::sources::SourceState;

/// Shared by the runs of one log monitor, which follow each other.
#[derive(Debug, Clone, Default)]
pub struct Checkpoint(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    cursors: Cursors,
    state: Option<SourceState>,
    has_run: bool,
}

impl Checkpoint {
    /// The newest record that was judged, for each file of the log: the next run goes on after it.
    #[must_use]
    pub fn cursors(&self) -> Vec<Origin> {
        self.with(|inner| inner.cursors.to_vec())
    }

    /// What the source reported of itself last.
    #[must_use]
    pub fn state(&self) -> Option<SourceState> {
        self.with(|inner| inner.state.clone())
    }

    /// The cursors of the run before this one. `None` for the first run: what a later one panicked at is not shown to
    /// it again.
    pub(super) fn begin_run(&self) -> Option<Cursors> {
        self.with(|inner| std::mem::replace(&mut inner.has_run, true).then(|| inner.cursors.clone()))
    }

    pub(super) fn save_cursors(&self, cursors: &Cursors) {
        self.with(|inner| inner.cursors.clone_from(cursors));
    }

    pub(super) fn save_state(&self, state: SourceState) {
        self.with(|inner| inner.state = Some(state));
    }

    fn with<T>(&self, access: impl FnOnce(&mut Inner) -> T) -> T {
        access(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
