//! What a saved log is wrapped in: an encoding, colours, a quotation, or what containers and other tools put around each
//! line. It is taken off while the log is read, line by line, so that lines keep their numbers.

mod container;
mod dmesg_json;
mod indent;
mod journal_fields;
mod journal_json;
mod lines;
mod paste;
mod rfc5424;
mod talos;
mod utf16;

use std::io::{self, Cursor, ErrorKind, Read};

use lines::{Lines, Rewrite};

use super::unread::UnreadLines;

/// So much shows the form.
const BEGINNING_BYTES: u64 = 16 << 10;
/// Lines that are looked at.
const LINES: usize = 50;
/// A container's log of a quoted, coloured log is as deep as people go.
const DEPTH: usize = 4;

/// `input` without what it is wrapped in. Lines that are not of the form are noted in `unread`.
pub(super) fn unwrapped<'a>(input: impl Read + 'a, unread: &UnreadLines) -> io::Result<Box<dyn Read + 'a>> {
    let mut input: Box<dyn Read + 'a> = Box::new(input);
    for _ in 0..DEPTH {
        let mut beginning = Vec::new();
        input.by_ref().take(BEGINNING_BYTES).read_to_end(&mut beginning)?;
        let form = Form::of(&beginning);
        if form.is_none() && is_binary(&beginning) {
            return Err(io::Error::new(ErrorKind::InvalidData, "its first bytes are no text"));
        }
        let whole = Cursor::new(beginning).chain(input);
        input = match form {
            Some(form) => form.unwrap(whole, unread)?,
            None => return Ok(Box::new(whole)),
        };
    }
    Ok(input)
}

enum Form {
    Utf16(utf16::Order),
    /// UTF-8 with a mark that it is.
    Marked,
    Lines(Box<dyn Rewrite>),
}

impl Form {
    fn of(beginning: &[u8]) -> Option<Self> {
        if let Some(order) = utf16::order(beginning) {
            return Some(Self::Utf16(order));
        }
        if beginning.starts_with(MARK) {
            return Some(Self::Marked);
        }
        let lines = beginning.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
        let lines: Vec<&[u8]> = lines.filter(|line| !line.is_empty()).take(LINES).collect();
        rewrite(&lines).map(Self::Lines)
    }

    fn unwrap<'a>(self, mut input: impl Read + 'a, unread: &UnreadLines) -> io::Result<Box<dyn Read + 'a>> {
        Ok(match self {
            Self::Utf16(order) => Box::new(utf16::Utf16::new(input, order)),
            Self::Marked => {
                input.read_exact(&mut [0; MARK.len()])?;
                Box::new(input)
            }
            Self::Lines(rewrite) => Box::new(Lines::new(input, rewrite, unread.clone())),
        })
    }
}

/// A machine that lost its power leaves zeros in its logs, but not so many.
fn is_binary(beginning: &[u8]) -> bool {
    beginning.iter().filter(|byte| **byte == 0).count() > beginning.len() / 4
}

/// U+FEFF.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// What takes off the outermost wrapping of a log that begins with `lines`.
fn rewrite(lines: &[&[u8]]) -> Option<Box<dyn Rewrite>> {
    if let Some(paste) = paste::Paste::of(lines) {
        return Some(Box::new(paste));
    }
    let mut pairs = lines.iter().zip(lines.iter().skip(1).map(Some).chain([None]));
    let known = pairs.find_map(|(line, next)| {
        let next = next.copied().unwrap_or_default();
        container::of(line)
            .or_else(|| rfc5424::is_one(line).then(|| Box::new(rfc5424::Rfc5424) as Box<dyn Rewrite>))
            .or_else(|| talos::is_one(line).then(|| Box::new(talos::Talos) as _))
            .or_else(|| dmesg_json::is_one(line, next).then(|| Box::<dmesg_json::DmesgJson>::default() as _))
            .or_else(|| journal_json::of(line, next))
            .or_else(|| journal_fields::of(line))
    });
    // Fields of a known form are indented, too.
    known.or_else(|| indent::Indent::of(lines).map(|indent| Box::new(indent) as _))
}

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod tests;
