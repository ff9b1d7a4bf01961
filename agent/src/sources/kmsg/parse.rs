//! One record as `/dev/kmsg` prints it (`Documentation/ABI/testing/dev-kmsg`), taken apart without copying.

use std::{borrow::Cow, time::Duration};

use memchr::memchr;
use nodewell_model::RecordFields;

/// `prefix,sequence,microseconds,flags[,…];text`, then lines of ` KEY=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KmsgRecord<'a> {
    /// 0 is the kernel itself; what user space writes is at least 1.
    pub facility: u32,
    /// The syslog level, 0 (emergency) to 7 (debug).
    pub level: u8,
    pub sequence: u64,
    /// Time since boot without suspend.
    pub since_boot: Duration,
    /// The message, escapes undone.
    pub text: Cow<'a, [u8]>,
    pub fields: KmsgFields<'a>,
}

/// The continuation lines, looked through when a rule asks; `PRIORITY` is the record's level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KmsgFields<'a> {
    lines: &'a [u8],
    level: u8,
}

impl RecordFields for KmsgFields<'_> {
    fn field(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        if name == "PRIORITY" {
            return Some(Cow::Owned(vec![b'0' + self.level]));
        }
        self.lines.split(|byte| *byte == b'\n').find_map(|line| {
            let value = line.strip_prefix(b" ")?.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
            Some(unescape(value))
        })
    }
}

/// Takes `raw` apart; `None` if it is not a kmsg record.
#[must_use]
pub fn parse(raw: &[u8]) -> Option<KmsgRecord<'_>> {
    let (head, body) = raw.split_at(memchr(b';', raw)?);
    let mut head = head.split(|byte| *byte == b',');
    let prefix = u32::try_from(number(head.next()?)?).ok()?;
    let sequence = number(head.next()?)?;
    let since_boot = Duration::from_micros(number(head.next()?)?);
    let body = &body[1..];
    let (text, lines) = memchr(b'\n', body).map_or((body, &[][..]), |end| (&body[..end], &body[end + 1..]));
    let level = (prefix & 7) as u8;
    let fields = KmsgFields { lines, level };
    Some(KmsgRecord { facility: prefix >> 3, level, sequence, since_boot, text: unescape(text), fields })
}

fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Undoes `\xNN`, with which the kernel writes what is not printable ASCII, and the backslash itself.
fn unescape(text: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr(b'\\', text) else { return Cow::Borrowed(text) };
    let mut out = Vec::with_capacity(text.len());
    out.extend_from_slice(&text[..first]);
    let mut rest = &text[first..];
    while let Some((byte, after)) = rest.split_first() {
        let escaped = (*byte == b'\\').then(|| escape(after)).flatten();
        out.push(escaped.unwrap_or(*byte));
        rest = if escaped.is_some() { &after[3..] } else { after };
    }
    Cow::Owned(out)
}

/// The byte that `xNN` at the start of `after` stands for.
fn escape(after: &[u8]) -> Option<u8> {
    let [b'x', high, low, ..] = after else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_that_kernels_printed_are_taken_apart() {
        // 6.18 and 6.1; the last is user space's.
        let cases: [(&str, [u64; 4], &str); 3] = [
            (
                "3,1300572,1355084808,-;INFO: task touch:31482 blocked for more than 5 seconds.\n",
                [0, 3, 1_300_572, 1_355_084_808],
                "INFO: task touch:31482 blocked for more than 5 seconds.",
            ),
            ("5,0,0,-;Linux version 6.1.0-56-amd64\n", [0, 5, 0, 0], "Linux version 6.1.0-56-amd64"),
            ("12,98,77,c,caller=T1;systemd[1]: a; b\n SUBSYSTEM=x\n", [1, 4, 98, 77], "systemd[1]: a; b"),
        ];
        for (raw, [facility, level, sequence, micros], text) in cases {
            let record = parse(raw.as_bytes()).unwrap();
            assert_eq!(
                [u64::from(record.facility), u64::from(record.level), record.sequence],
                [facility, level, sequence]
            );
            assert_eq!(record.since_boot, Duration::from_micros(micros));
            assert_eq!(record.text, Cow::Borrowed(text.as_bytes()));
            assert!(matches!(record.text, Cow::Borrowed(_)), "nothing to undo, nothing to copy");
        }
    }

    #[test]
    fn continuation_lines_are_fields_and_no_part_of_the_text() {
        let record =
            parse(b"6,1,2,-;acpi PNP0A08:00: _OSC\n SUBSYSTEM=acpi\n DEVICE=+acpi:PNP0A08:00\n X=a\\x0ab\n").unwrap();
        assert_eq!(record.text.as_ref(), b"acpi PNP0A08:00: _OSC");
        let field = |name: &str| record.fields.field(name).map(Cow::into_owned);
        assert_eq!(field("SUBSYSTEM").as_deref(), Some(&b"acpi"[..]));
        assert_eq!(field("DEVICE").as_deref(), Some(&b"+acpi:PNP0A08:00"[..]));
        assert_eq!(field("X").as_deref(), Some(&b"a\nb"[..]));
        assert_eq!(field("PRIORITY").as_deref(), Some(&b"6"[..]));
        assert_eq!(field("DEV"), None);
    }

    #[test]
    fn escapes_are_undone_and_broken_ones_left_alone() {
        let cases: [(&[u8], &[u8]); 5] = [
            (b"tab\\x09end", b"tab\tend"),
            (b"\\x5cx41", b"\\x41"),
            (b"\\xff\\xFe", b"\xff\xfe"),
            (b"cut \\x4", b"cut \\x4"),
            (b"\\n \\xzz \\", b"\\n \\xzz \\"),
        ];
        for (escaped, plain) in cases {
            assert_eq!(unescape(escaped).as_ref(), plain);
        }
    }

    #[test]
    fn what_is_no_record_is_rejected() {
        for raw in [
            &b""[..],
            b"6,1,2,-",
            b";text",
            b"6;text",
            b"6,1;text",
            b"-6,1,2,-;text",
            b"6,+1,2,-;text",
            b"6,99999999999999999999,2,-;t",
            b"4294967296,1,2,-;t",
            b"<6>text;",
        ] {
            assert_eq!(parse(raw), None, "{}", raw.escape_ascii());
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(raw in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300)) {
            if let Some(record) = parse(&raw) {
                let _ = record.fields.field("SUBSYSTEM");
            }
        }

        #[test]
        fn near_records_never_panic(raw in "[0-9]{1,3},[0-9]{0,21},[0-9]{0,21},[-c];[ -~\\n]{0,60}(\\\\x?[0-9a-g]{0,3})*") {
            if let Some(record) = parse(raw.as_bytes()) {
                proptest::prop_assert!(record.text.len() <= raw.len());
            }
        }
    }
}
