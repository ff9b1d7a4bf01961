//! What the place where text goes can show: colours on a terminal alone, and so many columns.

use std::io::IsTerminal;

pub(crate) use nodewell_command::{Paint, columns, one_line};
use nodewell_command::{split_at_column, wants_colours};

/// How text may look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) colours: bool,
    /// Columns; nothing: lines are as long as they are.
    pub(crate) width: Option<usize>,
}

impl Look {
    /// What standard output can show; files and pipes get whole lines without colours.
    pub(crate) fn of_stdout() -> Self {
        if !std::io::stdout().is_terminal() {
            return Self { colours: false, width: None };
        }
        let width = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
        Self { colours: wants_colours(), width: Some(width) }
    }

    pub(crate) fn paint(self, paint: Paint, text: &str) -> String {
        paint.on(text, self.colours)
    }

    /// `text` in what is left of a line where `taken` columns are; one that does not fit ends in `…`.
    pub(crate) fn fit(self, text: &str, taken: usize) -> String {
        /// Below this a message is of no use, and the terminal rather wraps it.
        const LEAST: usize = 16;
        match self.width.map(|width| width.saturating_sub(taken).max(LEAST)) {
            Some(room) if columns(text) > room => format!("{}…", split_at_column(text, room - 1).0),
            Some(_) | None => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_cut_to_the_line_and_never_to_nothing() {
        let look = |width| Look { colours: false, width };
        assert_eq!(look(None).fit("a long message that stays whole", 500), "a long message that stays whole");
        assert_eq!(look(Some(40)).fit("a long message of so many columns", 20), "a long message of s…");
        assert_eq!(look(Some(40)).fit("a long message of so many columns", 39), "a long message …");
        assert_eq!(look(Some(40)).fit("中文字中文字中文字中文字", 20), "中文字中文字中文字…");
        assert_eq!(look(Some(40)).fit("exactly twenty signs", 20), "exactly twenty signs");
    }

    #[test]
    fn what_drives_a_terminal_does_not_reach_it() {
        assert_eq!(one_line("a\nb\x1b[31mc\u{202e}d\n"), "a b\u{fffd}[31mc\u{fffd}d");
        let painted = Look { colours: true, width: None }.paint(Paint::Bad, "x");
        assert_eq!(painted, "\x1b[1;31mx\x1b[0m");
        assert_eq!(Look { colours: false, width: None }.paint(Paint::Bad, "x"), "x");
    }
}
