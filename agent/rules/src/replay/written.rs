//! A finding as a line of JSON: what serde makes of it, with texts looked at as a whole. It is written here because
//! this crate is compiled for speed and the program that prints it for size.

use serde::Serialize;

use super::{ProblemType, ReplayFinding, ReplayKind};

impl ReplayFinding {
    /// Appends it to `row` as JSON, in one line without its end.
    pub fn write_json(&self, row: &mut Vec<u8>) {
        let Self { line, time, source, lasting, condition, reason, severity, subject, message, kind } = self;
        row.extend_from_slice(b"{\"line\":");
        push_value(row, line);
        row.extend_from_slice(b",\"time\":");
        match time {
            Some(time) => push_value(row, time),
            None => row.extend_from_slice(b"null"),
        }
        push_field(row, ",\"source\":", Some(source));
        push_field(row, ",\"type\":", Some(lasting.as_str()));
        push_field(row, ",\"condition\":", condition.as_ref().map(|name| name.as_str()));
        push_field(row, ",\"reason\":", Some(reason.as_str()));
        push_field(row, ",\"severity\":", Some(severity.as_str()));
        push_field(row, ",\"subject\":", subject.as_deref());
        push_field(row, ",\"message\":", Some(message));
        push_field(row, ",\"kind\":", Some(kind.as_str()));
        row.push(b'}');
    }
}

impl ProblemType {
    fn as_str(self) -> &'static str {
        match self {
            Self::Temporary => "temporary",
            Self::Permanent => "permanent",
        }
    }
}

impl ReplayKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Raise => "raise",
            Self::Clear => "clear",
        }
    }
}

fn push_field(row: &mut Vec<u8>, name: &str, text: Option<&str>) {
    row.extend_from_slice(name.as_bytes());
    match text {
        // Every byte is looked at, many at once: nearly no text has one that JSON writes otherwise.
        Some(text) if text.bytes().fold(true, |all, byte| all & stands_for_itself(byte)) => {
            row.push(b'"');
            row.extend_from_slice(text.as_bytes());
            row.push(b'"');
        }
        Some(text) => push_value(row, text),
        None => row.extend_from_slice(b"null"),
    }
}

fn stands_for_itself(byte: u8) -> bool {
    (byte >= b' ') & (byte != b'"') & (byte != b'\\')
}

fn push_value<T: Serialize + ?Sized>(row: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(row, value).expect("memory takes numbers, times and texts");
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;
    use nodewell_model::{Name, Severity};
    use proptest::prelude::*;

    use super::*;

    fn text() -> impl Strategy<Value = String> {
        let parts = ["\"", "\\", "\n", "\u{1}", "\u{1f}", "\u{7f}", "\u{fffd}", "é", "😀", "a text", "/"];
        prop::collection::vec(prop::sample::select(parts.to_vec()), 0..6).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn a_finding_is_written_as_serde_writes_it(
            line in any::<u64>(),
            time in prop::option::of((-100_000_000_000..200_000_000_000_i64, 0..1_000_000_000_i32)),
            (source, message, subject) in (text(), text(), prop::option::of(text())),
            (lasts, clears) in any::<(bool, bool)>(),
            severity in prop::sample::select(Severity::ALL.to_vec()),
        ) {
            let finding = ReplayFinding {
                line,
                time: time.map(|(seconds, nanos)| Timestamp::new(seconds, nanos).unwrap()),
                source: Arc::from(source),
                lasting: if lasts { ProblemType::Permanent } else { ProblemType::Temporary },
                condition: lasts.then(|| Name::fixed("DiskUnhealthy")),
                reason: Name::fixed("IOError"),
                severity,
                subject,
                message,
                kind: if clears { ReplayKind::Clear } else { ReplayKind::Raise },
            };
            let mut row = b"before".to_vec();
            finding.write_json(&mut row);
            let expected = format!("before{}", serde_json::to_string(&finding).unwrap());
            prop_assert_eq!(String::from_utf8(row).unwrap(), expected);
        }
    }
}
