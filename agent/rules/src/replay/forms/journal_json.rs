//! `journalctl -o json-pretty`, `json-sse` and `json-seq`: entries that become one line of JSON each.

use serde_json::Value;

use super::lines::{LINE_LIMIT_BYTES, Rewrite};

/// What makes one line of each entry.
pub(super) fn of(line: &[u8], next: &[u8]) -> Option<Box<dyn Rewrite>> {
    if line.starts_with(b"\x1e{") || line.starts_with(b"data: {") {
        Some(Box::new(Prefixed))
    } else if line == b"{" && next.starts_with(b"\t\"") {
        Some(Box::<Pretty>::default())
    } else {
        None
    }
}

/// An entry is a line, after a mark.
struct Prefixed;

impl Rewrite for Prefixed {
    fn line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        let bare = line.strip_prefix(b"\x1e").or_else(|| line.strip_prefix(b"data: ")).unwrap_or(line);
        out.extend_from_slice(bare);
    }
}

/// An entry is over many lines, from `{` to `}`.
#[derive(Default)]
struct Pretty {
    entry: Vec<u8>,
}

impl Rewrite for Pretty {
    fn line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        if line == b"{" {
            self.entry.clear();
        }
        let room = LINE_LIMIT_BYTES.saturating_sub(self.entry.len());
        self.entry.extend_from_slice(&line[..line.len().min(room)]);
        if line.starts_with(b"}") {
            match serde_json::from_slice::<Value>(&self.entry) {
                Ok(entry) => out.extend_from_slice(entry.to_string().as_bytes()),
                // The reader of entries does not understand it either, and notes it.
                Err(_) => out.extend_from_slice(&self.entry),
            }
            self.entry.clear();
        }
    }
}
