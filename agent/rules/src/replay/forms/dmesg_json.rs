//! `dmesg --json`: an object over several lines for each message, which becomes a line as `dmesg` prints it.

use serde_json::{Map, Value};

use super::lines::Rewrite;

/// Whether `line` opens such a document.
pub(super) fn is_one(line: &[u8], next: &[u8]) -> bool {
    line.trim_ascii() == b"{" && next.trim_ascii_start().starts_with(b"\"dmesg\":")
}

/// What the lines of a message have shown so far.
#[derive(Default)]
pub(super) struct DmesgJson {
    priority: String,
    facility: String,
    time: String,
    missed: bool,
}

impl Rewrite for DmesgJson {
    fn line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        let member = member(line);
        self.missed = member.is_none() && !is_structure(line);
        let Some((name, value)) = member else { return };
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match &*name {
            "pri" => self.priority = text,
            "fac" => self.facility = text,
            "time" => self.time = text,
            "msg" => {
                out.extend_from_slice(self.prefix().as_bytes());
                out.extend(text.bytes().map(|byte| if byte == b'\n' { b' ' } else { byte }));
                *self = Self::default();
            }
            _ => {}
        }
    }

    fn missed(&self) -> bool {
        self.missed
    }
}

/// Name and value of a line that is one member of an object.
fn member(line: &[u8]) -> Option<(String, Value)> {
    let member = line.trim_ascii();
    let member = member.strip_suffix(b",").unwrap_or(member);
    let object: Map<String, Value> = serde_json::from_slice(&[b"{", member, b"}"].concat()).ok()?;
    object.into_iter().next()
}

/// Brackets and commas, or the line that opens the list.
fn is_structure(line: &[u8]) -> bool {
    let is_bracket = |byte: &u8| byte.is_ascii_whitespace() || b"{}[],".contains(byte);
    line.iter().all(is_bracket) || line.trim_ascii_start().starts_with(b"\"dmesg\":")
}

impl DmesgJson {
    /// As `dmesg -r` and `dmesg -x` write it.
    fn prefix(&self) -> String {
        let Self { priority, facility, time, .. } = self;
        let level = match (&**facility, priority.parse::<u32>()) {
            ("", Ok(number)) => format!("<{number}>"),
            ("", Err(_)) => String::new(),
            (facility, _) => format!("{facility:<6}:{priority:<6}: "),
        };
        let stamp = match time.contains('T') {
            true => format!("{time} "),
            false => format!("[{time:>12}] "),
        };
        if time.is_empty() { level } else { level + &stamp }
    }
}
