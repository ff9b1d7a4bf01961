//! `talosctl dmesg`: `10.0.0.2: kern:    info: [2026-11-21T02:31:05.123Z]: text`, which becomes a line as `dmesg -x` prints it.

use super::lines::Rewrite;
use crate::replay::time::rfc3339;

pub(super) struct Talos;

pub(super) fn is_one(line: &[u8]) -> bool {
    parts(line).is_some()
}

impl Rewrite for Talos {
    fn line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        let Some((facility, level, time, text)) = parts(line) else { return out.extend_from_slice(line) };
        let level = match level {
            "warning" => "warn",
            "error" => "err",
            other => other,
        };
        // `dmesg` writes a comma before the fraction, and always one.
        let time = if time.contains('.') { time.replacen('.', ",", 1) } else { time.replacen('Z', ",0Z", 1) };
        out.extend_from_slice(format!("{facility:<6}:{level:<6}: {time} ").as_bytes());
        out.extend_from_slice(text);
    }
}

/// Facility, level, time and text; the node's address before them is left out where there is one.
fn parts(line: &[u8]) -> Option<(&str, &str, &str, &[u8])> {
    let open = memchr::memmem::find(&line[..line.len().min(120)], b": [")?;
    let (head, rest) = (std::str::from_utf8(&line[..open]).ok()?, &line[open + 3..]);
    let close = memchr::memmem::find(&rest[..rest.len().min(40)], b"]: ")?;
    let time = std::str::from_utf8(&rest[..close]).ok()?;
    rfc3339(time)?;
    let (facility, level) = head.rsplit_once(':')?;
    let facility = facility.rsplit_once(' ').map_or(facility, |(_address, facility)| facility);
    Some((facility, level.trim_start(), time, &rest[close + 3..]))
}
