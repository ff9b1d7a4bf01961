//! `journalctl -o json`: one object a line.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_model::BootId;
use serde_json::{Map, Value};

use super::saved::{Fields, Saved};
use crate::json_log;

/// The entry in `line`. Kernel lines of another facility than 0 were written by user space.
pub(super) fn read(line: &[u8], any_facility: bool) -> Option<Saved<'_>> {
    let Ok(Value::Object(entry)) = serde_json::from_slice(line) else { return None };
    let kernel = text(&entry, "_TRANSPORT") == Some("kernel");
    let forged = kernel && !any_facility && text(&entry, "SYSLOG_FACILITY").is_some_and(|facility| facility != "0");
    if forged {
        return None;
    }
    let message = bytes(entry.get("MESSAGE")?)?;
    let message = if kernel { message } else { json_log::text_of(&message).unwrap_or(message) };
    let micros = |name| text(&entry, name).and_then(|digits| digits.parse::<i64>().ok());
    Some(Saved {
        kernel,
        time: micros("__REALTIME_TIMESTAMP").and_then(|micros| Timestamp::from_microsecond(micros).ok()),
        since_boot: micros("__MONOTONIC_TIMESTAMP")
            .and_then(|usec| u64::try_from(usec).ok())
            .map(Duration::from_micros),
        boot_id: text(&entry, "_BOOT_ID").and_then(BootId::parse),
        fields: Fields::Read(fields(&entry)),
        ..Saved::kernel(line, message)
    })
}

/// Whether `line` is an object, if not an entry that may be believed.
pub(super) fn is_object(line: &[u8]) -> bool {
    matches!(serde_json::from_slice(line), Ok(Value::Object(_)))
}

fn text<'a>(entry: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    entry.get(name)?.as_str()
}

fn fields(entry: &Map<String, Value>) -> Vec<(String, Vec<u8>)> {
    let wanted = entry.iter().filter(|(name, _)| *name != "MESSAGE");
    wanted.filter_map(|(name, value)| Some((name.clone(), bytes(value)?))).collect()
}

/// A value is a string, an array of bytes if it is not UTF-8, or an array of values if the field was given twice.
fn bytes(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => Some(text.clone().into_bytes()),
        Value::Array(items) if items.first().is_some_and(Value::is_number) => {
            items.iter().map(|item| u8::try_from(item.as_u64()?).ok()).collect()
        }
        Value::Array(items) => bytes(items.first().filter(|item| !item.is_array())?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use nodewell_model::RecordFields;

    use super::*;

    #[test]
    fn an_entry_is_taken_apart() {
        let line =
            br#"{"MESSAGE":[79,111,112,255],"_TRANSPORT":"kernel","_PID":["1","2"],"__REALTIME_TIMESTAMP":"1000000"}"#;
        let saved = read(line, false).unwrap();
        assert!(saved.kernel && saved.time.map(|time| time.as_second()) == Some(1));
        assert_eq!(&*saved.text, b"Oop\xff");
        assert_eq!(saved.fields.field("_PID").as_deref(), Some(&b"1"[..]));
    }

    #[test]
    fn what_is_no_entry_is_passed_over() {
        for line in ["", "{", "[]", "{}", r#"{"MESSAGE":null}"#, r#"{"MESSAGE":[[1]]}"#, r#"{"MESSAGE":[1,300]}"#] {
            assert!(read(line.as_bytes(), false).is_none(), "{line}");
        }
        let forged = br#"{"MESSAGE":"x","_TRANSPORT":"kernel","SYSLOG_FACILITY":"1"}"#;
        assert!(read(forged, false).is_none() && read(forged, true).is_some());
    }
}
