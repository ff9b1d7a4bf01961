//! A finding as a line of JSON: what serde makes of it, with texts looked at as a whole. It is written here because
//! this crate is compiled for speed and the program that prints it for size.

use serde::Serialize;

use super::{ProblemType, ReplayFinding, ReplayKind};

impl ReplayFinding {
    /// Appends it to `row` as JSON, in one line without its end.
    pub fn write_json(&self, row: &mut Vec<u8>) {
        let Self { line, time, source, lasting, condition, reason, severity, subject, message, kind } = self;
        push(row, "{\"line\":");
        push_value(row, line);
        push(row, ",\"time\":");
        match time {
            Some(time) => push_value(row, time),
            None => push(row, "null"),
        }
        push(row, ",\"source\":");
        push_text(row, source);
        push_word(row, ",\"type\":\"", lasting.as_str());
        match condition {
            Some(condition) => push_word(row, ",\"condition\":\"", condition.as_str()),
            None => push(row, ",\"condition\":null"),
        }
        push_word(row, ",\"reason\":\"", reason.as_str());
        push_word(row, ",\"severity\":\"", severity.as_str());
        push(row, ",\"subject\":");
        match subject {
            Some(subject) => push_text(row, subject),
            None => push(row, "null"),
        }
        push(row, ",\"message\":");
        push_text(row, message);
        push_word(row, ",\"kind\":\"", kind.as_str());
        push(row, "}");
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

fn push(row: &mut Vec<u8>, text: &str) {
    row.extend_from_slice(text.as_bytes());
}

/// What `before` opens with a quote, and that is letters and digits: a name, or a word of ours.
fn push_word(row: &mut Vec<u8>, before: &str, word: &str) {
    push(row, before);
    push(row, word);
    push(row, "\"");
}

fn push_text(row: &mut Vec<u8>, text: &str) {
    // Every byte is looked at, many at once: nearly no text has one that JSON writes otherwise.
    if text.bytes().fold(true, |all, byte| all & stands_for_itself(byte)) {
        push_word(row, "\"", text);
    } else {
        push_value(row, text);
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
