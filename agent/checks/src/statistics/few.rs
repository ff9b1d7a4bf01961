//! As many of a kind as a page may show, and how many more there are.

use std::ops::{Deref, DerefMut};

/// The first of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Few<T> {
    kept: Vec<T>,
    left_out: usize,
}

impl<T> Few<T> {
    /// The first `most` of `all`.
    #[must_use]
    pub fn new(mut all: Vec<T>, most: usize) -> Self {
        let left_out = all.len().saturating_sub(most);
        all.truncate(most);
        Self { kept: all, left_out }
    }

    /// How many were not kept.
    #[must_use]
    pub fn left_out(&self) -> usize {
        self.left_out
    }
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self { kept: Vec::new(), left_out: 0 }
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.kept
    }
}

impl<T> DerefMut for Few<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.kept
    }
}
