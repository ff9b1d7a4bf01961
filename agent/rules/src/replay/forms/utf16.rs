//! UTF-16, as PowerShell and some consoles save what they show.

use std::io::{self, Read};

/// Which byte of a unit comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

/// The order of a text that begins with its mark, or whose first characters are ASCII in two bytes each.
pub(super) fn order(beginning: &[u8]) -> Option<Order> {
    let begins = |order: Order| {
        let units = beginning.as_chunks::<2>().0.iter().map(|unit| order.unit(*unit));
        let mut units = units.take(8).peekable();
        let is_marked = units.peek() == Some(&0xfeff);
        // A unit of ASCII has a zero in its other byte, which no text of single bytes has.
        is_marked || (beginning.len() >= 16 && units.all(|unit| matches!(unit, 0x09..=0x7e)))
    };
    [Order::Little, Order::Big].into_iter().find(|order| begins(*order))
}

impl Order {
    fn unit(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }
}

/// The same text as UTF-8; half a pair becomes U+FFFD.
pub(super) struct Utf16<R> {
    input: R,
    order: Order,
    /// Bytes of units that are not whole yet.
    rest: Vec<u8>,
    out: Vec<u8>,
    given: usize,
    ended: bool,
}

impl<R: Read> Utf16<R> {
    pub(super) fn new(input: R, order: Order) -> Self {
        let (rest, out) = (Vec::new(), Vec::new());
        Self { input, order, rest, out, given: 0, ended: false }
    }

    fn decode_more(&mut self) -> io::Result<()> {
        let before = self.rest.len();
        self.rest.resize(before + (64 << 10), 0);
        let count = self.input.read(&mut self.rest[before..])?;
        self.rest.truncate(before + count);
        self.ended = count == 0;
        let whole = self.whole_units();
        let (units, _) = self.rest[..whole].as_chunks::<2>();
        let units = units.iter().map(|unit| self.order.unit(*unit));
        let text = char::decode_utf16(units).map(|decoded| decoded.unwrap_or(char::REPLACEMENT_CHARACTER));
        let text: String = text.filter(|character| *character != '\u{feff}').collect();
        self.out.extend_from_slice(text.as_bytes());
        self.rest.drain(..whole);
        Ok(())
    }

    /// How many bytes are whole characters: the first half of a pair waits for the second.
    fn whole_units(&self) -> usize {
        let even = self.rest.len() & !1;
        let last = self.rest[..even].last_chunk::<2>().map(|unit| self.order.unit(*unit));
        let waits = !self.ended && last.is_some_and(|unit| (0xd800..0xdc00).contains(&unit));
        if waits { even - 2 } else { even }
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.out.len() && !self.ended {
            self.out.clear();
            self.given = 0;
            self.decode_more()?;
        }
        let count = buffer.len().min(self.out.len() - self.given);
        buffer[..count].copy_from_slice(&self.out[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}
