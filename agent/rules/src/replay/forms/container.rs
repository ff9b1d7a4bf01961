//! Logs of containers: Docker's json-file and the files of CRI runtimes. A line that was too long for the runtime comes in
//! parts, and is put together.

use serde_json::Value;

use super::lines::{LINE_LIMIT_BYTES, Rewrite};

/// What takes `line` out of the wrapping it has.
pub(super) fn of(line: &[u8]) -> Option<Box<dyn Rewrite>> {
    if line.starts_with(b"{\"log\":\"") {
        Some(Box::<Docker>::default())
    } else if cri(line).is_some() {
        Some(Box::<Cri>::default())
    } else {
        None
    }
}

/// `{"log":"text\n","stream":"stderr","time":"…"}`.
#[derive(Default)]
struct Docker {
    begun: Parts,
    missed: bool,
}

impl Rewrite for Docker {
    fn line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        let text = log_of(line);
        self.missed = text.is_none() && !line.is_empty();
        let Some(text) = text else { return };
        self.begun.add(text.strip_suffix('\n').unwrap_or(&text).as_bytes(), text.ends_with('\n'), out);
    }

    fn missed(&self) -> bool {
        self.missed
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.begun.add(b"", true, out);
    }
}

fn log_of(line: &[u8]) -> Option<String> {
    let mut entry: Value = serde_json::from_slice(line).ok()?;
    match entry.get_mut("log")?.take() {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// `2026-11-21T02:31:05.123456789Z stderr F text`.
#[derive(Default)]
struct Cri {
    begun: Parts,
    missed: bool,
}

impl Rewrite for Cri {
    fn line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        let parsed = cri(line);
        self.missed = parsed.is_none() && !line.is_empty();
        let Some((is_whole, text)) = parsed else { return };
        self.begun.add(text, is_whole, out);
    }

    fn missed(&self) -> bool {
        self.missed
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.begun.add(b"", true, out);
    }
}

/// Whether the line ends here, and its text.
fn cri(line: &[u8]) -> Option<(bool, &[u8])> {
    let mut words = line.splitn(4, |byte| *byte == b' ');
    let (time, stream, tag) = (words.next()?, words.next()?, words.next()?);
    let is_time = time.len() >= 20 && time[4] == b'-' && time[10] == b'T';
    let is_stream = matches!(stream, b"stdout" | b"stderr");
    // Tags of later versions follow a colon.
    let is_whole = match tag.first() {
        Some(b'F') => true,
        Some(b'P') => false,
        _ => return None,
    };
    (is_time && is_stream && matches!(tag.get(1), None | Some(b':')))
        .then(|| (is_whole, words.next().unwrap_or_default()))
}

/// The parts of a line that has begun.
#[derive(Default)]
struct Parts(Vec<u8>);

impl Parts {
    fn add(&mut self, part: &[u8], is_last: bool, out: &mut Vec<u8>) {
        let room = LINE_LIMIT_BYTES - self.0.len();
        self.0.extend_from_slice(&part[..part.len().min(room)]);
        if is_last {
            // A newline within would be a line of its own.
            out.extend(self.0.drain(..).map(|byte| if byte == b'\n' { b' ' } else { byte }));
        }
    }
}
