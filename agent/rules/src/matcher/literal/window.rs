//! A few bytes to search for, and what stands around them.

use std::ops::Deref;

/// As many as the scan reads at once.
pub(in crate::matcher) const KEY_BYTES: usize = 4;
/// A longer text is hardly ever rarer.
pub(super) const LONGEST: usize = 24;
/// What is before the key at most, so that there is room behind it, too.
pub(super) const LONGEST_BEFORE: usize = 12;

/// A text of at most [`LONGEST`] bytes, in place, that is chosen for the [`KEY_BYTES`] of it that are rarest, its key.
/// One that is shorter than that is found by its key; by what a longer one is found the scan decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::matcher) struct Window {
    bytes: [u8; LONGEST],
    count: u8,
    key_at: u8,
    key_count: u8,
}

impl Window {
    /// `key` and the bytes around it, as many as there is room for.
    pub(in crate::matcher) fn new(before: &[u8], key: &[u8], behind: &[u8]) -> Self {
        let before = &before[before.len().saturating_sub(LONGEST_BEFORE)..];
        Self::around(before.iter().copied(), key, behind.iter().copied())
    }

    /// The same of at most [`LONGEST_BEFORE`] bytes before the key.
    pub(super) fn around(
        before: impl ExactSizeIterator<Item = u8>,
        key: &[u8],
        behind: impl Iterator<Item = u8>,
    ) -> Self {
        let mut window = Self { bytes: [0; LONGEST], count: 0, key_at: before.len() as u8, key_count: key.len() as u8 };
        for (place, byte) in window.bytes.iter_mut().zip(before.chain(key.iter().copied()).chain(behind)) {
            *place = byte;
            window.count += 1;
        }
        window
    }

    /// What is searched for whole.
    pub(in crate::matcher) fn text(text: &[u8]) -> Self {
        let (key, behind) = text.split_at(text.len().min(KEY_BYTES));
        Self::new(&[], key, behind)
    }

    /// Where the key is in it.
    pub(in crate::matcher) fn key_at(&self) -> usize {
        usize::from(self.key_at)
    }

    pub(in crate::matcher) fn key(&self) -> &[u8] {
        &self[self.key_at()..][..usize::from(self.key_count)]
    }
}

impl Deref for Window {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.count)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_much_around_the_key_is_kept_as_there_is_room_for() {
        let window = Window::new(b"abcdefghijklmnop", b"KEYS", b"0123456789");
        assert_eq!((&*window, window.key()), (b"efghijklmnopKEYS01234567".as_slice(), b"KEYS".as_slice()));
        assert_eq!(Window::new(b"a", b"bcde", b"f").key(), b"bcde");
        let window = Window::text(b"ab");
        assert_eq!((&*window, window.key(), window.key_at()), (b"ab".as_slice(), b"ab".as_slice(), 0));
        assert_eq!(Window::text(b"Linux version").key(), b"Linu");
    }
}
