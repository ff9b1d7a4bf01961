//! Raw records of `/dev/kmsg`: `priority,sequence,microseconds,flags[,…];text`, then ` KEY=value` lines.

use std::{borrow::Cow, time::Duration};

use super::saved::{Fields, Saved};

/// So much of a line may be before its text.
const HEADER_BYTES: usize = 256;
/// Continuation lines that are looked at.
const FIELDS_LIMIT: usize = 64;
/// No number of so many digits is too large.
const SAFE_DIGITS: usize = 19;

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

/// Priority, sequence, microseconds and text. What else is before the semicolon may be anything.
fn split(line: &[u8]) -> Option<(u64, u64, u64, &[u8])> {
    let (priority, rest) = number(line)?;
    let (sequence, rest) = number(rest.strip_prefix(b",")?)?;
    let (usec, rest) = number(rest.strip_prefix(b",")?)?;
    let before = line.len() - rest.len();
    let semicolon = match rest.first()? {
        b';' => before,
        b',' => before + memchr::memchr(b';', &rest[..rest.len().min(HEADER_BYTES.saturating_sub(before))])?,
        _ => return None,
    };
    (semicolon < HEADER_BYTES).then(|| (priority, sequence, usec, &line[semicolon + 1..]))
}

/// The number that `text` begins with, and what follows it.
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let (mut sum, mut count) = (0_u64, 0);
    while let Some(digit) = text.get(count).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        let digit = u64::from(digit);
        sum = if count < SAFE_DIGITS { sum * 10 + digit } else { sum.checked_mul(10)?.checked_add(digit)? };
        count += 1;
    }
    (count > 0).then(|| (sum, &text[count..]))
}

/// The field `name` in the lines behind a record; `after` begins at its newline.
pub(super) fn field<'a>(after: &'a [u8], name: &str) -> Option<Cow<'a, [u8]>> {
    let lines = after.split(|byte| *byte == b'\n').skip(1).map_while(|line| line.strip_prefix(b" "));
    let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
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
    use proptest::prelude::*;

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
    fn a_carriage_return_is_no_part_of_a_value() {
        let after = b"\n SUBSYSTEM=pci\r\n DEVICE=+pci:0\r\n6,2,3,-;next\r\n";
        assert_eq!(field(after, "SUBSYSTEM").as_deref(), Some(&b"pci"[..]));
        assert_eq!(field(after, "DEVICE").as_deref(), Some(&b"+pci:0"[..]));
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

    /// By its parts, as the kernel's documentation has them.
    fn by_parts(line: &[u8]) -> Option<(u64, u64, u64, &[u8])> {
        let semicolon = line.iter().take(HEADER_BYTES).position(|byte| *byte == b';')?;
        let mut parts = std::str::from_utf8(&line[..semicolon]).ok()?.split(',');
        let mut number =
            || parts.next().filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()))?.parse::<u64>().ok();
        Some((number()?, number()?, number()?, &line[semicolon + 1..]))
    }

    proptest! {
        #[test]
        fn a_header_is_read_as_by_its_parts(
            line in prop_oneof![
                "[0-9]{1,3},[0-9]{1,20},[0-9]{1,20}(,[-a-z,=]{0,260})?;[ -~]{0,9}",
                "([0-9]{1,21}|[+ x]?)[,;][0-9]{0,20}[,;]?[0-9]{0,20}[,; ](-|c,x)?[,;]{0,2}[ -~]{0,9}",
            ],
        ) {
            prop_assert_eq!(split(line.as_bytes()), by_parts(line.as_bytes()), "{}", line);
        }
    }
}
