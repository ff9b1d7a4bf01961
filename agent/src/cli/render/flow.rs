//! Pieces of text one after the other, in as many lines as the width takes: nothing is cut.

use super::look::{Look, Paint, columns, one_line, split_at_column};

/// Below this, text is rather too long for its line than a letter a line; and it rather begins on a line of its own.
const ROOM_MIN: usize = 14;

/// What stays together where it can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    text: String,
    paint: Option<Paint>,
}

impl Piece {
    /// `text` on one line, harmless.
    pub(super) fn new(text: &str) -> Self {
        Self { text: one_line(text), paint: None }
    }

    pub(super) fn painted(paint: Paint, text: &str) -> Self {
        Self { paint: Some(paint), ..Self::new(text) }
    }
}

/// Where pieces stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// Columns of the first line that are taken.
    pub(super) first: usize,
    /// Columns before every other line.
    pub(super) indent: usize,
    pub(super) separator: &'static str,
}

impl Layout {
    /// Text of its own lines, `indent` from the left.
    pub(super) fn block(indent: usize) -> Self {
        Self { first: indent, indent, separator: " " }
    }
}

/// `pieces` without a line break at their end. A piece that fits on a line is not broken; another one is between words.
pub(super) fn flow(pieces: &[Piece], layout: Layout, look: &Look) -> String {
    let mut flow = Flow { layout, look, text: String::new(), column: layout.first };
    for (n, piece) in pieces.iter().enumerate() {
        flow.add(piece, n == 0);
    }
    flow.text
}

/// `text` in lines of its own, each ended.
pub(super) fn paragraph(text: &str, indent: usize, look: &Look) -> String {
    format!("{:indent$}{}\n", "", flow(&[Piece::new(text)], Layout::block(indent), look))
}

struct Flow<'a> {
    layout: Layout,
    look: &'a Look,
    text: String,
    column: usize,
}

impl Flow<'_> {
    /// A separator may stand at the end of a line.
    fn width(&self) -> usize {
        let taken = columns(self.layout.separator.trim_end());
        self.look.width.map_or(usize::MAX, |width| width.max(self.layout.indent + ROOM_MIN) - taken)
    }

    fn add(&mut self, piece: &Piece, is_first: bool) {
        let separator = if is_first { "" } else { self.layout.separator };
        let wanted = columns(separator) + columns(&piece.text);
        if self.width().saturating_sub(self.column) >= wanted {
            self.push(separator);
        } else if !is_first {
            self.text.push_str(separator.trim_end());
            self.line();
        } else if self.column > self.layout.indent && self.width() < self.column + ROOM_MIN {
            self.line();
        }
        let mut rest = piece.text.as_str();
        loop {
            let (head, tail) = broken(rest, self.width().saturating_sub(self.column));
            self.text.push_str(&piece.paint.map_or_else(|| head.to_owned(), |paint| self.look.paint(paint, head)));
            self.column = self.column.saturating_add(columns(head));
            if tail.is_empty() {
                return;
            }
            self.line();
            rest = tail;
        }
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.column += columns(text);
    }

    fn line(&mut self) {
        self.text.push('\n');
        self.text.push_str(&" ".repeat(self.layout.indent));
        self.column = self.layout.indent;
    }
}

/// `text` up to the last blank within `room` columns, and after it; a longer word is broken.
fn broken(text: &str, room: usize) -> (&str, &str) {
    if columns(text) <= room {
        return (text, "");
    }
    let (head, tail) = split_at_column(text, room.max(1));
    if tail.starts_with(' ') {
        return (head.trim_end(), tail.trim_start());
    }
    match head.rfind(' ').filter(|at| !head[..*at].trim().is_empty()) {
        Some(at) => (text[..at].trim_end(), text[at..].trim_start()),
        // A character wider than the room stays whole: without it there would be no end.
        None if head.is_empty() => text.split_at(text.chars().next().map_or(0, char::len_utf8)),
        None => (head, tail),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(width: usize) -> Look {
        Look { width: Some(width), ..Look::PLAIN }
    }

    #[test]
    fn pieces_stay_whole_where_they_fit() {
        let pieces = ["one two", "three", "four five"].map(Piece::new);
        let layout = Layout { first: 0, indent: 2, separator: ", " };
        assert_eq!(flow(&pieces, layout, &Look::PLAIN), "one two, three, four five");
        assert_eq!(flow(&pieces, layout, &at(19)), "one two, three,\n  four five");
        assert_eq!(flow(&pieces, Layout { first: 6, ..layout }, &at(20)), "one two,\n  three, four five");
    }

    #[test]
    fn a_long_piece_is_broken_between_words_and_a_long_word_within() {
        assert_eq!(paragraph("one two three four five", 2, &at(18)), "  one two three\n  four five\n");
        assert_eq!(paragraph(&"x".repeat(40), 2, &at(20)), format!("  {0}\n  {0}\n  xxxx\n", "x".repeat(18)));
        let narrow = paragraph("中文字中文字中文字中文字 a\u{202e}b", 2, &at(3));
        assert!(narrow.lines().all(|line| columns(line) <= 2 + ROOM_MIN), "{narrow}");
        assert!(narrow.contains("a\u{fffd}b"), "{narrow}");
    }

    #[test]
    fn every_line_of_a_painted_piece_is_painted_and_ends_its_colour() {
        let look = Look { colours: true, ..at(20) };
        let text = flow(&[Piece::painted(Paint::Bad, "one two three four five")], Layout::block(2), &look);
        assert_eq!(text, "\x1b[1;31mone two three four\x1b[0m\n  \x1b[1;31mfive\x1b[0m");
    }
}
