//! What a sensor data record (SDR) calls its sensor: full, compact and event-only ones (IPMI 2.0, sections 43.1 to 43.3).

use std::ops::Range;

use nodewell_model::text;
use serde::{Deserialize, Serialize};

/// The standard's strings have 16 characters, and a number behind them.
const LIMIT_BYTES: usize = 48;
/// A string has no more characters than its length can count.
const STRING_BYTES: usize = 31;

/// What one sensor is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SensorName {
    /// Whose sensor it is, as entries of the event log have it.
    pub generator: u16,
    pub number: u8,
    pub name: String,
}

/// The kinds of records that name sensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Full,
    Compact,
    EventOnly,
}

impl Kind {
    fn of(record_type: u8) -> Option<Self> {
        match record_type {
            0x01 => Some(Self::Full),
            0x02 => Some(Self::Compact),
            0x03 => Some(Self::EventOnly),
            _ => None,
        }
    }

    /// Where the string's type and length stand.
    fn string_at(self) -> usize {
        match self {
            Self::Full => 47,
            Self::Compact => 31,
            Self::EventOnly => 16,
        }
    }

    /// Where that stands by which several sensors share the record, if they can.
    fn sharing_at(self) -> Option<usize> {
        match self {
            Self::Full => None,
            Self::Compact => Some(23),
            Self::EventOnly => Some(12),
        }
    }

    fn tail_at(self) -> usize {
        self.sharing_at().unwrap_or(self.string_at())
    }
}

/// What a record begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// `None`: a record of something else.
    kind: Option<Kind>,
    /// Of the whole record, as it has it.
    bytes: usize,
    generator: u16,
    number: u8,
}

impl Head {
    /// The header and a sensor's key. No type of record of the standard's is shorter.
    pub(super) const BYTES: u8 = 8;

    /// `None`: it came in part.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        const HEADER_BYTES: usize = 5;
        let [_, _, _version, record_type, rest, owner, place, number, ..] = *bytes else { return None };
        Some(Self {
            kind: Kind::of(record_type),
            bytes: HEADER_BYTES + usize::from(rest),
            generator: generator(u16::from_le_bytes([owner, place])),
            number,
        })
    }

    /// The bytes of the record that name its sensors; `None` if it names none.
    pub(super) fn tail(&self) -> Option<Range<usize>> {
        let kind = self.kind?;
        let end = self.bytes.min(kind.string_at() + 1 + STRING_BYTES);
        (end > kind.string_at()).then(|| kind.tail_at()..end)
    }

    /// The sensors that the record names, in these bytes of it.
    pub(super) fn names(&self, tail: &[u8]) -> Vec<SensorName> {
        let Some(kind) = self.kind else { return Vec::new() };
        let Some(name) = tail.get(kind.string_at() - kind.tail_at()..).and_then(id_string) else { return Vec::new() };
        let sharing = match tail {
            [count, modifier, ..] if kind.sharing_at().is_some() => Sharing::of(*count, *modifier),
            _ => Sharing::of(1, 0),
        };
        let of_one = |n| {
            let name = shown(&format!("{name}{}", sharing.suffix(n)));
            let number = self.number.checked_add(n).filter(|_| !name.is_empty())?;
            Some(SensorName { generator: self.generator, number, name })
        };
        (0..sharing.count).filter_map(of_one).collect()
    }
}

/// The owner of a sensor in an event's record, without the bits that are reserved there: the upper byte has the channel and
/// the LUN (IPMI 2.0, tables 32-1 and 43-1).
pub(super) fn generator(raw: u16) -> u16 {
    raw & 0xf3ff
}

/// How many sensors, of numbers in a row, share a record, and how their names differ (IPMI 2.0, table 43-2, bytes 24 and 25).
#[derive(Debug, Clone, Copy)]
struct Sharing {
    count: u8,
    is_alphabetic: bool,
    first: u8,
}

impl Sharing {
    fn of(count: u8, modifier: u8) -> Self {
        Self { count: (count & 0x0f).max(1), is_alphabetic: count >> 4 & 0x03 == 1, first: modifier & 0x7f }
    }

    /// `5`, `6`; `A` to `Z`, then `AA`.
    fn suffix(self, n: u8) -> String {
        let letter = |n: u8| char::from(b'A' + n % 26);
        let number = self.first + n;
        match (self.count, self.is_alphabetic) {
            (1, _) => String::new(),
            (_, false) => number.to_string(),
            (_, true) if number < 26 => letter(number).to_string(),
            (_, true) => [letter(number / 26 - 1), letter(number)].iter().collect(),
        }
    }
}

/// A string behind the byte with its type and length, which counts characters (IPMI 2.0, section 43.15). `None`: it is not
/// there, or of signs that nothing shows.
fn id_string(bytes: &[u8]) -> Option<String> {
    let (code, bytes) = bytes.split_first()?;
    let length = usize::from(code & 0x1f);
    let of_bytes = || bytes.iter().take(length);
    match code >> 6 {
        0b01 => Some(bytes.iter().flat_map(|byte| [byte >> 4, byte & 0x0f]).map(bcd_plus).take(length).collect()),
        0b10 => Some(sixes(bytes).map(|six| char::from(b' ' + six)).take(length).collect()),
        // Latin-1 is Unicode's beginning.
        0b11 => Some(of_bytes().map(|byte| char::from(*byte)).collect()),
        // Unicode, by the standard; what is ASCII all the same is meant so.
        _ => of_bytes().all(u8::is_ascii).then(|| of_bytes().map(|byte| char::from(*byte)).collect()),
    }
}

fn bcd_plus(digit: u8) -> char {
    char::from(b"0123456789 -.:,_"[usize::from(digit & 0x0f)])
}

/// Three bytes are four characters of six bits, the lowest bits first.
fn sixes(bytes: &[u8]) -> impl Iterator<Item = u8> {
    bytes.chunks(3).flat_map(|three| {
        let bits = three.iter().rev().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        (0..three.len() * 8 / 6).map(move |n| (bits >> (6 * n)).to_le_bytes()[0] & 0x3f)
    })
}

/// In one line, without what fills it up.
fn shown(name: &str) -> String {
    let words: Vec<&str> = name.split_whitespace().collect();
    text::line(&words.join(" "), LIMIT_BYTES).trim().to_owned()
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A record of that type and length, with the BMC's sensor 41h.
    pub(in crate::bmc) fn record(record_type: u8, body: &[(usize, u8)], string: &[u8]) -> Vec<u8> {
        let kind = Kind::of(record_type).unwrap();
        let mut record = vec![0; kind.string_at()];
        record.extend_from_slice(string);
        let rest = u8::try_from(record.len() - 5).unwrap();
        record[2..8].copy_from_slice(&[0x51, record_type, rest, 0x20, 0, 0x41]);
        body.iter().for_each(|(at, byte)| record[*at] = *byte);
        record
    }

    /// The type and length of a string, and its bytes.
    pub(in crate::bmc) fn ascii(text: &str) -> Vec<u8> {
        [&[0xc0 | u8::try_from(text.len()).unwrap()][..], text.as_bytes()].concat()
    }

    fn names(record: &[u8]) -> Vec<SensorName> {
        let head = Head::of(record).unwrap();
        head.tail().and_then(|tail| record.get(tail)).map_or(Vec::new(), |tail| head.names(tail))
    }

    fn only(record: &[u8]) -> String {
        let names = names(record);
        assert!(names.len() <= 1, "{names:?}");
        names.into_iter().next().map_or(String::new(), |name| name.name)
    }

    #[test]
    fn each_kind_of_record_names_its_sensor() {
        for record_type in [1, 2, 3] {
            let named = names(&record(record_type, &[], &ascii("DIMM_A1")));
            let expected = SensorName { generator: 0x20, number: 0x41, name: "DIMM_A1".to_owned() };
            assert_eq!(named, [expected], "{record_type}");
            // Of another management controller, behind a channel and a LUN; the bits between these are no part of it.
            let named = names(&record(record_type, &[(5, 0x2c), (6, 0x7e)], &ascii("Inlet")));
            assert_eq!((named[0].generator, named[0].number), (0x722c, 0x41));
        }
    }

    #[test]
    fn records_of_other_things_and_shorter_ones_name_none() {
        for record_type in [0x08, 0x09, 0x10, 0x11, 0x12, 0x14, 0xc0, 0xff] {
            let mut other = record(1, &[], &ascii("FAN1"));
            other[3] = record_type;
            assert_eq!(Head::of(&other).unwrap().tail(), None, "{record_type:02x}");
        }
        let whole = record(2, &[], &ascii("FAN1"));
        assert_eq!(Head::of(&whole[..7]), None);
        for rest in [0, 3, 26] {
            let mut short = whole.clone();
            short[4] = rest;
            assert_eq!(Head::of(&short).unwrap().tail(), None, "{rest}");
        }
        // As long as it says, or as the standard's longest string: never more.
        let mut long = record(1, &[], &ascii("FAN1"));
        assert_eq!(Head::of(&long).unwrap().tail(), Some(47..52));
        long[4] = 255;
        assert_eq!(Head::of(&long).unwrap().tail(), Some(47..79));
        assert_eq!(names(&whole[..31]), [], "without its string");
    }

    #[test]
    fn strings_come_in_four_forms() {
        for (string, expected) in [
            (&b"\xc4FAN1"[..], "FAN1"),
            (b"\xd0FAN1\0\0\0\0\0\0\0\0\0\0\0\0", "FAN1"),
            (b"\xcb  PSU 1\t\xb0C ", "PSU 1 °C"),
            (b"\xc4FAN10", "FAN1"),
            (b"\xdfFAN1", "FAN1"),
            // "IPMI" of the standard's example, 6 bits each.
            (b"\x84\x29\xdc\xa6", "IPMI"),
            (b"\x82\x29\xdc\xa6", "IP"),
            (b"\x9f\x29\xdc\xa6", "IPMI"),
            (b"\x81\x29", "I"),
            (b"\x46\x12\x3b\x45", "123-45"),
            (b"\x43\x12\x3b\x45", "123"),
            (b"\x42\xcd", ".:"),
            // Called Unicode, and ASCII.
            (b"\x04FAN1", "FAN1"),
            (b"\x04F\xffN1", ""),
            (b"\xc0FAN1", ""),
            (b"\x80", ""),
            (b"\xc5\x1b[2J\x07", "[2J"),
            (b"\xc3\xad\xad\xad", ""),
            (b"", ""),
        ] {
            assert_eq!(only(&record(1, &[], string)), expected, "{string:x?}");
        }
    }

    #[test]
    fn sensors_that_share_a_record_have_names_in_a_row() {
        let named = |record_type, sharing, modifier| {
            let at = Kind::of(record_type).unwrap().sharing_at().unwrap();
            let record = record(record_type, &[(at, sharing), (at + 1, modifier)], &ascii("Temp "));
            names(&record).into_iter().map(|name| (name.number, name.name)).collect::<Vec<_>>()
        };
        let expected =
            |names: &[(u8, &str)]| names.iter().map(|(number, name)| (*number, (*name).to_owned())).collect::<Vec<_>>();
        for record_type in [2, 3] {
            assert_eq!(
                named(record_type, 0x03, 0x85),
                expected(&[(0x41, "Temp 5"), (0x42, "Temp 6"), (0x43, "Temp 7")])
            );
            assert_eq!(named(record_type, 0x12, 0x00), expected(&[(0x41, "Temp A"), (0x42, "Temp B")]));
            assert_eq!(named(record_type, 0x12, 0x19), expected(&[(0x41, "Temp Z"), (0x42, "Temp AA")]));
            for alone in [0x00, 0x01, 0x11] {
                assert_eq!(named(record_type, alone, 0x05), expected(&[(0x41, "Temp")]));
            }
            assert_eq!(named(record_type, 0x0f, 0x7f).len(), 15);
        }
        // Numbers end with FFh.
        assert_eq!(names(&record(2, &[(7, 0xfe), (23, 0x0f)], &ascii("T"))).len(), 2);
    }

    proptest! {
        #[test]
        fn no_record_breaks_anything(mut bytes in prop::collection::vec(any::<u8>(), 0..120), record_type in 0_u8..5) {
            if let Some(kind) = bytes.get_mut(3) {
                *kind = record_type;
            }
            let Some(head) = Head::of(&bytes) else { return Ok(()) };
            let tail = head.tail().unwrap_or(0..0);
            prop_assert!(tail.len() <= 48 && tail.end <= 79);
            for end in 0..=tail.len() {
                let tail = bytes.get(tail.start..tail.start + end).unwrap_or_default();
                for SensorName { name, .. } in head.names(tail) {
                    prop_assert!(!name.is_empty() && name.len() <= LIMIT_BYTES);
                    prop_assert_eq!(text::line(&name, LIMIT_BYTES), name);
                }
            }
        }
    }
}
