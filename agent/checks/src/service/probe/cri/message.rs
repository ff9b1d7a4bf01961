//! Fields of a message in the Protocol Buffers wire format (protobuf.dev, "Encoding"), as far as two answers need it.

use thiserror::Error;

/// Not that format, or cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("not a message of Protocol Buffers")]
pub(super) struct Malformed;

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// Fixed width; nothing we read.
    Fixed,
}

/// The fields of one message, in their order; ends after the first error.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn field(&mut self) -> Result<(u64, Value<'a>), Malformed> {
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Value::Number(self.varint()?),
            1 => self.take(8).map(|_| Value::Fixed)?,
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| Malformed)?;
                Value::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| Value::Fixed)?,
            // Groups are of before 2008.
            _ => return Err(Malformed),
        };
        Ok((tag >> 3, value))
    }

    /// Seven bits a byte, the lowest first, at most ten bytes.
    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Malformed)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Malformed)?;
        self.rest = rest;
        Ok(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_end_in_fields_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(Fields::new(&bytes).count() <= bytes.len());
        }
    }

    #[test]
    fn a_length_beyond_the_message_is_an_error() {
        let huge = [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(Fields::new(&huge).collect::<Vec<_>>(), [Err(Malformed)]);
        assert_eq!(Fields::new(&[0x08, 0x96, 0x01]).collect::<Vec<_>>(), [Ok((1, Value::Number(150)))]);
    }
}
