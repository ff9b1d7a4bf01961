//! Raw records of `/dev/kmsg`: `priority,sequence,microseconds,flags[,…];text`, then ` KEY=value` lines.

use std::{borrow::Cow, time::Duration};

use super::saved::{Fields, Saved};

/// Continuation lines that are looked at.
const FIELDS_LIMIT: usize = 64;

/// The record in `line`; `after` begins at its newline.
pub(super) fn read<'a>(line: &'a [u8], after: &'a [u8], any_facility: bool) -> Option<Saved<'a>> {
    let (priority, sequence, usec, text) = split(line)?;
    // The kernel's own facility is 0; the kernel files what user space writes under another.
    if priority >> 3 != 0 && !any_facility {
        return None;
    }
    Some(Saved {
        sequence: Some(sequence),
        since_boot: Some(Duration::from_micros(usec)),
        fields: Fields::Behind(after),
        ..Saved::kernel(line, unescape(text))
    })
}

/// Whether `line` is a raw record.
pub(super) fn is_record(line: &[u8]) -> bool {
    split(line).is_some()
}

fn split(line: &[u8]) -> Option<(u64, u64, u64, &[u8])> {
    let semicolon = memchr::memchr(b';', &line[..line.len().min(256)])?;
    let mut numbers = line[..semicolon].splitn(4, |byte| *byte == b',').map(number);
    let (priority, sequence, usec) = (numbers.next()??, numbers.next()??, numbers.next()??);
    Some((priority, sequence, usec, &line[semicolon + 1..]))
}

fn number(digits: &[u8]) -> Option<u64> {
    let add = |sum: u64, digit: &u8| {
        let value = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        sum.checked_mul(10)?.checked_add(value)
    };
    if digits.is_empty() { None } else { digits.iter().try_fold(0, add) }
}

/// The field `name` in the lines behind a record; `after` begins at its newline.
pub(super) fn field<'a>(after: &'a [u8], name: &str) -> Option<Cow<'a, [u8]>> {
    let lines = after.split(|byte| *byte == b'\n').skip(1).map_while(|line| line.strip_prefix(b" "));
    let value = |line: &'a [u8]| line.strip_prefix(name.as_bytes())?.strip_prefix(b"=");
    lines.take(FIELDS_LIMIT).find_map(value).map(unescape)
}

/// Undoes `\xNN`, by which the kernel writes what is not printable.
pub(super) fn unescape(text: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr::memchr(b'\\', text) else { return text.into() };
    let mut plain = text[..first].to_vec();
    let mut rest = &text[first..];
    while let Some((byte, tail)) = rest.split_first() {
        match escaped(rest) {
            Some(undone) => {
                plain.push(undone);
                rest = &rest[4..];
            }
            None => {
                plain.push(*byte);
                rest = tail;
            }
        }
    }
    plain.into()
}

fn escaped(rest: &[u8]) -> Option<u8> {
    let digits = rest.strip_prefix(b"\\x")?.get(..2)?;
    let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
    u8::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use nodewell_model::RecordFields;

    use super::*;

    #[test]
    fn a_record_is_taken_apart() {
        let after = b"\n SUBSYSTEM=pci\n DEVICE=+pci:0000\\x3a00\n6,2,3,-;next\n X=1";
        let saved = read(b"3,17,2500000,-,caller=T1;a\\x0ab\\xzz\\", after, false).unwrap();
        assert_eq!((saved.sequence, saved.since_boot), (Some(17), Some(Duration::from_micros(2_500_000))));
        assert_eq!(&*saved.text, b"a\nb\\xzz\\");
        let field = |name: &str| saved.fields.field(name).map(Cow::into_owned);
        assert_eq!(field("SUBSYSTEM").as_deref(), Some(&b"pci"[..]));
        assert_eq!(field("DEVICE").as_deref(), Some(&b"+pci:0000:00"[..]));
        assert_eq!(
            [field("X"), field("DEV"), field("")],
            [None, None, None],
            "of the next record, a part of a name, no name"
        );
    }

    #[test]
    fn what_user_space_wrote_is_not_the_kernels() {
        assert!(read(b"12,1,1,-;BUG: forged", b"", false).is_none());
        assert!(read(b"12,1,1,-;BUG: allowed", b"", true).is_some());
    }

    #[test]
    fn other_lines_are_no_records() {
        for line in
            [&b" SUBSYSTEM=pci"[..], b"", b";", b"1,2;x", b"a,b,c;x", b"+1,2,3;x", b"1,2,99999999999999999999;x"]
        {
            assert!(!is_record(line), "{line:?}");
        }
    }
}
