//! Syslog as RFC 5424 has it, which becomes a line as log files have it.

use super::lines::Rewrite;
use crate::replay::time::rfc3339;

/// `<PRI>1 TIME HOST APP PROCID MSGID DATA text`.
pub(super) struct Rfc5424;

pub(super) fn is_one(line: &[u8]) -> bool {
    parts(line).is_some()
}

impl Rewrite for Rfc5424 {
    fn line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        let Some(Parts { priority, time, host, program, pid, text }) = parts(line) else {
            return out.extend_from_slice(line);
        };
        out.extend_from_slice(&[priority, time, b" ", host, b" ", program].concat());
        if pid != b"-" && program != b"kernel" {
            out.extend_from_slice(&[b"[", pid, b"]"].concat());
        }
        out.extend_from_slice(b": ");
        out.extend_from_slice(text);
    }
}

struct Parts<'a> {
    /// With its brackets.
    priority: &'a [u8],
    time: &'a [u8],
    host: &'a [u8],
    program: &'a [u8],
    pid: &'a [u8],
    text: &'a [u8],
}

fn parts(line: &[u8]) -> Option<Parts<'_>> {
    let end = line.iter().take(5).position(|byte| *byte == b'>').filter(|_| line.starts_with(b"<"))?;
    let mut words = line[end + 1..].strip_prefix(b"1 ")?.splitn(6, |byte| *byte == b' ');
    let (time, host, program, pid) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let (_message_id, rest) = (words.next()?, words.next()?);
    rfc3339(std::str::from_utf8(time).ok()?)?;
    let text = after_data(rest)?;
    Some(Parts {
        priority: &line[..=end],
        time,
        host,
        program,
        pid,
        text: text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text),
    })
}

/// What follows the structured data: `-`, or elements in brackets whose values may hold escaped ones.
fn after_data(rest: &[u8]) -> Option<&[u8]> {
    if let Some(text) = rest.strip_prefix(b"-") {
        return Some(text.strip_prefix(b" ").unwrap_or(text));
    }
    let (mut at, mut is_quoted) = (0, false);
    rest.starts_with(b"[").then_some(())?;
    while let Some(byte) = rest.get(at) {
        match byte {
            b'\\' if is_quoted => at += 1,
            b'"' => is_quoted = !is_quoted,
            b']' if !is_quoted && rest.get(at + 1) != Some(&b'[') => {
                let text = &rest[at + 1..];
                return Some(text.strip_prefix(b" ").unwrap_or(text));
            }
            _ => {}
        }
        at += 1;
    }
    None
}
