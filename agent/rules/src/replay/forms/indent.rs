//! Blanks before the lines of a block of code in an issue or a mail, where the lines themselves show no form.

use super::lines::Rewrite;
use crate::replay::format::recognise;

/// A block of code has so many, or tabs. What a journal has before the second line of a message is wider, and a program
/// wrote that line.
const CODE_BLANKS: std::ops::RangeInclusive<usize> = 4..=8;

/// What to take off: the blanks that all lines have. More than these are a message's own.
pub(super) struct Indent(Vec<u8>);

impl Indent {
    /// Those of `lines`; `None` if too many have none.
    pub(super) fn of(lines: &[&[u8]]) -> Option<Self> {
        let (indented, flush): (Vec<&[u8]>, Vec<&[u8]>) = lines.iter().partition(|line| !blanks(line).is_empty());
        let common = indented.iter().map(|line| blanks(line)).reduce(shared)?;
        let is_code = common.starts_with(b"\t") || CODE_BLANKS.contains(&common.len());
        let is_known = || flush.iter().any(|line| recognise(line).is_some());
        // Words around the block. More of them may as well be messages, whose next lines have tabs.
        let is_around = || is_code && flush.len() * 10 <= lines.len() && !is_known();
        let is_block = !common.is_empty() && (flush.is_empty() || is_around());
        is_block.then(|| Self(common.to_vec()))
    }
}

impl Rewrite for Indent {
    fn line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&line[shared(line, &self.0).len()..]);
    }
}

/// The blanks that `line` begins with.
fn blanks(line: &[u8]) -> &[u8] {
    let end = line.iter().position(|byte| !matches!(byte, b' ' | b'\t'));
    &line[..end.unwrap_or(line.len())]
}

/// What both begin with.
fn shared<'a>(one: &'a [u8], other: &[u8]) -> &'a [u8] {
    let length = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    &one[..length]
}
