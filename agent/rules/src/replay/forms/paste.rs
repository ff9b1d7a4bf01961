//! A terminal's colours, and what issue trackers and mails put before each line of a quotation.

use super::lines::Rewrite;
use crate::replay::format::recognise;

/// What to take off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Paste {
    quoted: bool,
    indented: bool,
}

impl Paste {
    /// What stands around `lines`; `None` if nothing does.
    pub(super) fn of(lines: &[&[u8]]) -> Option<Self> {
        let coloured = lines.iter().any(|line| memchr::memmem::find(line, b"\x1b[").is_some());
        let fenced = lines.iter().any(|line| is_fence(line));
        let bare: Vec<Vec<u8>> =
            lines.iter().filter(|line| !is_fence(line)).map(|line| without_colours(line)).collect();
        let quoted = !bare.is_empty() && bare.iter().all(|line| line.starts_with(b">") || line.starts_with(b"|"));
        // Blanks before every line are part of some forms; those of a known form are not.
        let indented = bare.iter().all(|line| line.first().is_some_and(u8::is_ascii_whitespace))
            && bare.iter().any(|line| recognise(line.trim_ascii_start()).is_some());
        (coloured || fenced || quoted || indented).then_some(Self { quoted, indented })
    }
}

impl Rewrite for Paste {
    fn line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        if is_fence(line) {
            return;
        }
        let bare = without_colours(line);
        let mut text = &*bare;
        while self.quoted && text.first().is_some_and(|first| matches!(first, b'>' | b'|')) {
            text = &text[1..];
            text = text.strip_prefix(b" ").unwrap_or(text);
        }
        out.extend_from_slice(if self.indented { text.trim_ascii_start() } else { text });
    }
}

/// The mark around a block of code in Markdown.
fn is_fence(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"```")
}

/// Without control sequences of ECMA-48: `ESC [`, parameters, one letter.
fn without_colours(line: &[u8]) -> Vec<u8> {
    let (mut bare, mut rest) = (Vec::with_capacity(line.len()), line);
    while let Some(at) = memchr::memmem::find(rest, b"\x1b[") {
        bare.extend_from_slice(&rest[..at]);
        let sequence = &rest[at + 2..];
        let last = sequence.iter().position(|byte| !matches!(byte, 0x20..=0x3f));
        rest = last.map_or(&[][..], |last| &sequence[last + 1..]);
    }
    bare.extend_from_slice(rest);
    bare
}
