//! Outlines as text, a line for each pattern. A test makes the table of the shipped rules, and holds it to them.

use std::cmp::Ordering;

use nodewell_model::problem::stable_hash;

use super::Outline;
use crate::matcher::{literal::Window, opening::Opening, steps::GROUPS};

/// The lines are in the order of the keys with which they begin. Behind its key a line has `n` for a pattern of several
/// lines and `a` for one that looks at the start of the text, the numbers of the groups, the bits of the opening, and
/// the windows: `before<key>behind/`, and `before<key&key>behind/` where only the keys differ. No window has these
/// characters.
pub(super) const SHIPPED: &str = include_str!("shipped.txt");

/// The outline of `pattern` in `table`, for a rule that looks at so many lines. A line that makes no sense is none.
pub(super) fn find(table: &str, pattern: &str, lines: usize) -> Option<Outline> {
    read(behind(table, &key(pattern, lines))?)
}

/// 64 bits, which no two shipped patterns share.
fn key(pattern: &str, lines: usize) -> String {
    let scope = if lines > 1 { "lines" } else { "line" };
    format!("{:016x}", stable_hash(&[pattern, scope]))
}

/// What stands behind `key` in its line of `table`.
fn behind<'t>(table: &'t str, key: &str) -> Option<&'t str> {
    let bytes = table.as_bytes();
    let (mut from, mut to) = (0, bytes.len());
    while from < to {
        let middle = from + (to - from) / 2;
        let begin = memchr::memrchr(b'\n', &bytes[..middle]).map_or(0, |newline| newline + 1);
        let end = memchr::memchr(b'\n', &bytes[middle..]).map_or(bytes.len(), |newline| middle + newline);
        let line = &table[begin..end];
        match line.get(..key.len()).unwrap_or(line).cmp(key) {
            Ordering::Less => from = end + 1,
            Ordering::Equal => return line.get(key.len()..),
            Ordering::Greater => to = begin,
        }
    }
    None
}

fn read(line: &str) -> Option<Outline> {
    let mut fields = line.strip_prefix(' ')?.splitn(4, ' ');
    let flags = fields.next()?;
    let mut groups = [None; GROUPS];
    for (group, number) in groups.iter_mut().zip(fields.next()?.split('.')) {
        // The whole match is no group of its own.
        *group = Some(number.parse::<u16>().ok()?).filter(|number| *number > 0);
    }
    let opening = match fields.next()? {
        "*" => Opening::ANY,
        bits => Opening(u64::from_str_radix(bits, 16).ok()?),
    };
    let windows = match fields.next() {
        Some(alike) => Some(alike.split_terminator('/').map(with_keys).collect::<Option<Vec<_>>>()?.concat()),
        None => None,
    };
    Some(Outline { is_multi_line: flags.contains('n'), is_anchored: flags.contains('a'), opening, groups, windows })
}

/// `before<key&key>behind` as a window for each key.
fn with_keys(alike: &str) -> Option<Vec<Window>> {
    let (before, rest) = alike.split_once('<')?;
    let (keys, behind) = rest.split_once('>')?;
    let window = |key: &str| Window::new(before.as_bytes(), key.as_bytes(), behind.as_bytes());
    Some(keys.split('&').map(window).collect())
}

#[cfg(test)]
mod tests;
