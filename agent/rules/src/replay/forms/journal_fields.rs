//! `journalctl -o export` and `-o verbose`: a line for each field, which become one line of JSON for each entry.

use serde_json::{Map, Value};

use super::lines::{LINE_LIMIT_BYTES, Rewrite};

/// What stands before a value of any bytes.
const LENGTH_BYTES: usize = 8;

/// What makes one line of each entry.
pub(super) fn of(line: &[u8]) -> Option<Box<dyn Rewrite>> {
    if line.starts_with(b"__CURSOR=") {
        Some(Box::<Export>::default())
    } else if header(line).is_some() {
        Some(Box::<Verbose>::default())
    } else {
        None
    }
}

/// The fields of an entry.
#[derive(Default)]
struct Entry {
    fields: Map<String, Value>,
    bytes: usize,
}

impl Entry {
    fn add(&mut self, name: &str, value: &[u8]) {
        self.bytes += name.len() + value.len();
        if self.bytes <= LINE_LIMIT_BYTES {
            // As `-o json` writes what is not UTF-8.
            let value = std::str::from_utf8(value).map_or_else(|_| Value::from(value.to_vec()), Value::from);
            // Of a field that was given twice the first counts, as in `-o json`.
            self.fields.entry(name).or_insert(value);
        }
    }

    fn give(&mut self, out: &mut Vec<u8>) {
        let entry = std::mem::take(self);
        if !entry.fields.is_empty() {
            out.extend_from_slice(Value::Object(entry.fields).to_string().as_bytes());
        }
    }
}

/// `NAME=value`, or `NAME`, the length in eight bytes, and a value of any bytes; an empty line ends an entry
/// (systemd.io, Journal Export Formats).
#[derive(Default)]
struct Export {
    entry: Entry,
    binary: Option<Binary>,
    missed: bool,
}

/// A value that has begun. Of one that is too long no more is stored than shows its length.
struct Binary {
    name: String,
    /// Length and value.
    stored: Vec<u8>,
    seen: u64,
}

impl Binary {
    fn add(&mut self, bytes: &[u8]) {
        let room = (LINE_LIMIT_BYTES + LENGTH_BYTES).saturating_sub(self.stored.len());
        self.stored.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.seen += bytes.len() as u64;
    }

    /// Once all of it was seen its bytes, unless they are too many.
    fn value(&self) -> Option<Option<&[u8]>> {
        let length = u64::from_le_bytes(*self.stored.first_chunk()?);
        let end = length.saturating_add(LENGTH_BYTES as u64);
        (self.seen >= end).then(|| self.stored.get(LENGTH_BYTES..usize::try_from(end).ok()?))
    }
}

impl Rewrite for Export {
    fn complete(&mut self, next: &[u8], out: &mut Vec<u8>) {
        if next.is_empty() && self.binary.is_none() {
            self.entry.give(out);
        }
    }

    fn line(&mut self, line: &[u8], _out: &mut Vec<u8>) {
        self.missed = false;
        if let Some(mut binary) = self.binary.take() {
            binary.add(line);
            match binary.value() {
                Some(value) => value.into_iter().for_each(|value| self.entry.add(&binary.name, value)),
                None => {
                    binary.add(b"\n");
                    self.binary = Some(binary);
                }
            }
        } else if let Some(equals) = memchr::memchr(b'=', line) {
            self.entry.add(&String::from_utf8_lossy(&line[..equals]), &line[equals + 1..]);
        } else if !line.is_empty() && line.iter().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_')) {
            let name = String::from_utf8_lossy(line).into_owned();
            self.binary = Some(Binary { name, stored: Vec::new(), seen: 0 });
        } else {
            self.missed = !line.is_empty();
        }
    }

    fn missed(&self) -> bool {
        self.missed
    }

    fn is_raw(&self) -> bool {
        self.binary.is_some()
    }

    /// The newline of the line that was too long counts already.
    fn skipped(&mut self, bytes: usize) {
        let Some(binary) = &mut self.binary else { return };
        let with_newline = binary.seen + bytes as u64 - 1;
        // The last newline may stand behind the value.
        binary.seen = with_newline - 1;
        match binary.value() {
            Some(_) => self.binary = None,
            None => binary.seen = with_newline,
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.entry.give(out);
    }
}

/// A line with time and cursor, then indented fields; a value goes on in lines that are indented further.
#[derive(Default)]
struct Verbose {
    entry: Entry,
    /// The field whose value may go on.
    begun: Option<(String, Vec<u8>)>,
}

impl Verbose {
    fn close_field(&mut self) {
        if let Some((name, value)) = self.begun.take() {
            self.entry.add(&name, &value);
        }
    }
}

impl Rewrite for Verbose {
    fn complete(&mut self, next: &[u8], out: &mut Vec<u8>) {
        if header(next).is_some() {
            self.close_field();
            self.entry.give(out);
        }
    }

    fn line(&mut self, line: &[u8], _out: &mut Vec<u8>) {
        if let Some(cursor) = header(line) {
            for part in cursor.split(|byte| *byte == b';') {
                let (name, value) = part.split_at(part.len().min(2));
                let hex = || u64::from_str_radix(std::str::from_utf8(value).ok()?, 16).ok();
                let micros = || hex().map(|micros| micros.to_string()).unwrap_or_default();
                match name {
                    b"b=" => self.entry.add("_BOOT_ID", value),
                    b"t=" => self.entry.add("__REALTIME_TIMESTAMP", micros().as_bytes()),
                    b"m=" => self.entry.add("__MONOTONIC_TIMESTAMP", micros().as_bytes()),
                    _ => {}
                }
            }
            return;
        }
        let text = line.trim_ascii_start();
        let name =
            memchr::memchr(b'=', text).filter(|_| line.len() - text.len() == 4).map(|equals| text.split_at(equals));
        let name = name.filter(|(name, _)| name.iter().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_')));
        match (name, &mut self.begun) {
            (Some((name, value)), _) => {
                self.close_field();
                self.begun = Some((String::from_utf8_lossy(name).into_owned(), value[1..].to_vec()));
            }
            (None, Some((_, value))) if value.len() < LINE_LIMIT_BYTES => {
                value.push(b'\n');
                value.extend_from_slice(text);
            }
            (None, _) => {}
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.close_field();
        self.entry.give(out);
    }
}

/// The cursor of `Sat 2026-11-21 02:31:05.123456 UTC [s=…;i=…;b=…;m=…;t=…;x=…]`.
fn header(line: &[u8]) -> Option<&[u8]> {
    let open = memchr::memmem::find(&line[..line.len().min(60)], b" [s=")?;
    (!line[0].is_ascii_whitespace()).then_some(())?;
    line[open + 2..].strip_suffix(b"]")
}
