//! Messages in the Protocol Buffers wire format (protobuf.dev, "Encoding"), as far as a driver reads and writes them.

use thiserror::Error;

/// Not that format, or cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("not a message of Protocol Buffers")]
pub(crate) struct Malformed;

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// Fixed width, which no message here has.
    Fixed,
}

/// A message to be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn new(message: &'a [u8]) -> Self {
        Self(message)
    }

    /// A text; of several the last counts, and none is empty.
    pub(crate) fn text(self, number: u64) -> Result<&'a str, Malformed> {
        let last = self.all(number)?.pop().unwrap_or_default();
        std::str::from_utf8(last).map_err(|_| Malformed)
    }

    pub(crate) fn flag(self, number: u64) -> Result<bool, Malformed> {
        let mut flag = false;
        self.each(|field, value| {
            if let (true, Value::Number(value)) = (field == number, value) {
                flag = value != 0;
            }
        })?;
        Ok(flag)
    }

    /// Each text or message with this number.
    pub(crate) fn all(self, number: u64) -> Result<Vec<&'a [u8]>, Malformed> {
        let mut all = Vec::new();
        self.each(|field, value| {
            if let (true, Value::Bytes(bytes)) = (field == number, value) {
                all.push(bytes);
            }
        })?;
        Ok(all)
    }

    /// The value of a key in a map, whose entries are messages.
    pub(crate) fn entry(self, number: u64, key: &str) -> Result<Option<&'a str>, Malformed> {
        for entry in self.all(number)? {
            if Fields(entry).text(1)? == key {
                return Fields(entry).text(2).map(Some);
            }
        }
        Ok(None)
    }

    fn each(mut self, mut take: impl FnMut(u64, Value<'a>)) -> Result<(), Malformed> {
        while !self.0.is_empty() {
            let tag = self.varint()?;
            let value = match tag & 7 {
                0 => Value::Number(self.varint()?),
                1 => self.bytes(8).map(|_| Value::Fixed)?,
                2 => {
                    let length = usize::try_from(self.varint()?).map_err(|_| Malformed)?;
                    Value::Bytes(self.bytes(length)?)
                }
                5 => self.bytes(4).map(|_| Value::Fixed)?,
                _ => return Err(Malformed),
            };
            take(tag >> 3, value);
        }
        Ok(())
    }

    /// Seven bits a byte, the lowest first, at most ten bytes.
    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.bytes(1)?[0];
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Malformed)
    }

    fn bytes(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }
}

/// A message to be written.
#[derive(Debug, Default)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    pub(crate) fn text(self, number: u64, text: &str) -> Self {
        self.bytes(number, text.as_bytes())
    }

    pub(crate) fn message(self, number: u64, message: &Self) -> Self {
        self.bytes(number, &message.0)
    }

    pub(crate) fn flag(mut self, number: u64, flag: bool) -> Self {
        self.varint(number << 3);
        self.varint(flag.into());
        self
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn bytes(mut self, number: u64, bytes: &[u8]) -> Self {
        self.varint(number << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn varint(&mut self, mut number: u64) {
        while number > 0x7f {
            self.0.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `test2.b = "testing"` and `test1.a = 150` are the examples of protobuf.dev.
    #[test]
    fn fields_are_written_and_read_as_the_documentation_has_them() {
        let testing = [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67];
        assert_eq!(Message::default().text(2, "testing").into_bytes(), testing);
        assert_eq!(Fields::new(&testing).text(2), Ok("testing"));
        assert_eq!(Fields::new(&testing).text(1), Ok(""));
        assert_eq!(Fields::new(&[0x08, 0x96, 0x01]).flag(1), Ok(true));
        assert_eq!(Fields::new(&testing).flag(2), Ok(false));
    }

    #[test]
    fn of_a_map_the_value_of_one_key_is_read() {
        let entry = |key, value| Message::default().text(1, key).text(2, value);
        let map = Message::default().message(2, &entry("a", "1")).message(2, &entry("b", "2")).flag(6, true);
        let map = map.into_bytes();
        assert_eq!(Fields::new(&map).entry(2, "b"), Ok(Some("2")));
        assert_eq!(Fields::new(&map).entry(2, "c"), Ok(None));
        assert_eq!(Fields::new(&map).flag(6), Ok(true));
    }

    #[test]
    fn a_length_of_more_than_one_byte_is_written_and_read() {
        let long = "x".repeat(300);
        let message = Message::default().text(4, &long).into_bytes();
        assert_eq!(Fields::new(&message).text(4), Ok(long.as_str()));
        assert_eq!(Fields::new(&message[..200]).text(4), Err(Malformed), "a cut one is none");
    }
}
