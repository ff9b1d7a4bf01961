//! A few bytes to search for.

use std::ops::Deref;

use super::WINDOW_BYTES;

/// At most [`WINDOW_BYTES`] of them, in place: a pattern may be known by some hundred windows until one set is chosen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::matcher) struct Window {
    bytes: [u8; WINDOW_BYTES],
    count: u8,
}

impl Window {
    pub(super) const EMPTY: Self = Self { bytes: [0; WINDOW_BYTES], count: 0 };

    /// The same with one byte more; there has to be room.
    pub(super) fn with(mut self, byte: u8) -> Self {
        self.bytes[usize::from(self.count)] = byte;
        self.count += 1;
        self
    }

    #[cfg(test)]
    pub(super) fn of(bytes: &[u8]) -> Self {
        bytes.iter().fold(Self::EMPTY, |window, byte| window.with(*byte))
    }
}

impl Deref for Window {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.count)]
    }
}
