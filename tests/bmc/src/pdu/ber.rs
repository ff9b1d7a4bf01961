//! As much of BER (X.690) as SNMP needs: definite lengths, integers, octet strings and object identifiers.

pub(super) const INTEGER: u8 = 0x02;
pub(super) const OCTETS: u8 = 0x04;
pub(super) const NULL: u8 = 0x05;
pub(super) const OID: u8 = 0x06;
pub(super) const SEQUENCE: u8 = 0x30;

/// A type and its contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Element<'a> {
    pub(super) tag: u8,
    pub(super) content: &'a [u8],
}

/// Reads elements one after the other.
pub(super) struct Elements<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Elements<'a> {
    type Item = Element<'a>;

    /// None at the end, and where the rest is no element.
    fn next(&mut self) -> Option<Element<'a>> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            short if short < 0x80 => (usize::from(short), rest),
            long => {
                let (bytes, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
                (bytes.iter().fold(0, |length: usize, byte| length << 8 | usize::from(*byte)), rest)
            }
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some(Element { tag, content })
    }
}

impl<'a> Elements<'a> {
    /// The contents of the next one, if it has this type.
    pub(super) fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|element| element.tag == tag).map(|element| element.content)
    }
}

pub(super) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let mut bytes = vec![tag];
    match length {
        0..0x80 => bytes.push(length as u8),
        0x80..0x100 => bytes.extend([0x81, length as u8]),
        _ => bytes.extend([0x82, (length >> 8) as u8, length as u8]),
    }
    bytes.extend(content);
    bytes
}

pub(super) fn integer(value: u8) -> Vec<u8> {
    element(INTEGER, &[value])
}

/// The contents of an object identifier from its numbers, of which there are at least two.
pub(super) fn oid(numbers: &[u32]) -> Vec<u8> {
    let [first, second, rest @ ..] = numbers else { return Vec::new() };
    let mut bytes = vec![(first * 40 + second) as u8];
    for number in rest {
        let groups = (1..5).rev().map(|group| number >> (7 * group)).skip_while(|group| *group == 0);
        bytes.extend(groups.map(|group| group as u8 & 0x7f | 0x80));
        bytes.push(*number as u8 & 0x7f);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_identifier_has_seven_bits_in_a_byte() {
        // sysObjectID.0, and an enterprise number that takes two bytes.
        assert_eq!(oid(&[1, 3, 6, 1, 2, 1, 1, 2, 0]), [0x2b, 6, 1, 2, 1, 1, 2, 0]);
        assert_eq!(oid(&[1, 3, 6, 1, 4, 1, 318]), [0x2b, 6, 1, 4, 1, 0x82, 0x3e]);
    }

    #[test]
    fn what_was_written_is_read_and_a_truncated_rest_is_none() {
        let long = element(OCTETS, &[7; 200]);
        let both = [element(INTEGER, &[5]), long.clone()].concat();
        let read: Vec<_> = Elements(&both).collect();
        assert_eq!(read, [Element { tag: INTEGER, content: &[5] }, Element { tag: OCTETS, content: &[7; 200] }]);
        assert_eq!(Elements(&long[..100]).next(), None);
    }
}
