//! The bytes that may stand at one place of a pattern.

use regex_syntax::hir::Class;

/// At most ten bytes: the digits are a class of ten.
#[derive(Clone, Copy)]
pub(super) struct Bytes {
    bytes: [u8; 10],
    count: usize,
}

impl Bytes {
    pub(super) fn one(byte: u8) -> Self {
        Self { bytes: [byte; 10], count: 1 }
    }

    /// Each of them once; `None` if they are none or too many.
    pub(super) fn any(mut all: Vec<u8>) -> Option<Self> {
        all.sort_unstable();
        all.dedup();
        Self::of(all.into_iter())
    }

    /// `None` if they are none or too many.
    fn of(all: impl Iterator<Item = u8>) -> Option<Self> {
        let mut bytes = Self { bytes: [0; 10], count: 0 };
        for byte in all {
            *bytes.bytes.get_mut(bytes.count)? = byte;
            bytes.count += 1;
        }
        (bytes.count > 0).then_some(bytes)
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.count]
    }

    pub(super) fn are_plain(&self) -> bool {
        self.as_slice().iter().all(|byte| is_plain(*byte))
    }

    /// The bytes of a class that has few.
    pub(super) fn of_class(class: &Class) -> Option<Self> {
        match class {
            Class::Bytes(class) => Self::of(class.ranges().iter().flat_map(|r| r.start()..=r.end())),
            Class::Unicode(class) if !class.is_ascii() => None,
            Class::Unicode(class) => Self::of(class.ranges().iter().flat_map(|r| r.start()..=r.end()).map(|c| c as u8)),
        }
    }
}

/// Bytes that stand for themselves in every saved form of a log: raw kmsg escapes what is not printable and the
/// backslash, JSON escapes the quote, some JSON writers `<`, `>` and `&`, and rsyslog's the slash.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'&' | b'/')
}
