//! As many of a kind as a page may show, and how many more there are.

use std::ops::{Deref, DerefMut};

/// The first of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truncated<T> {
    shown: Vec<T>,
    left_out: usize,
}

impl<T> Truncated<T> {
    /// The first `most` of `all`.
    #[must_use]
    pub fn new(mut all: Vec<T>, most: usize) -> Self {
        let left_out = all.len().saturating_sub(most);
        all.truncate(most);
        Self { shown: all, left_out }
    }

    /// How many there are beside them.
    #[must_use]
    pub fn left_out(&self) -> usize {
        self.left_out
    }
}

impl<T> Default for Truncated<T> {
    fn default() -> Self {
        Self { shown: Vec::new(), left_out: 0 }
    }
}

impl<T> Deref for Truncated<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.shown
    }
}

impl<T> DerefMut for Truncated<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.shown
    }
}
