//! What the place where text goes can show: colours on a terminal alone, and so many columns.

use std::io::IsTerminal;

use unicode_width::UnicodeWidthChar;

/// How text may look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) colours: bool,
    /// Columns; nothing: lines are as long as they are.
    pub(crate) width: Option<usize>,
}

/// What a colour means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Bad,
    Warning,
    Good,
    Strong,
    Faint,
}

impl Look {
    /// What standard output can show; files and pipes get whole lines without colours.
    /// <https://no-color.org>: any value that is not empty means no.
    pub(crate) fn of_stdout() -> Self {
        if !std::io::stdout().is_terminal() {
            return Self { colours: false, width: None };
        }
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let width = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
        Self { colours: !no_color && !is_dumb, width: Some(width) }
    }

    pub(crate) fn paint(self, paint: Paint, text: &str) -> String {
        if !self.colours || text.is_empty() {
            return text.to_owned();
        }
        let code = match paint {
            Paint::Bad => "1;31",
            Paint::Warning => "33",
            Paint::Good => "32",
            Paint::Strong => "1",
            Paint::Faint => "2",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// `text` in what is left of a line where `taken` columns are; one that does not fit ends in `…`.
    pub(crate) fn fit(self, text: &str, taken: usize) -> String {
        /// Below this a message is of no use, and the terminal rather wraps it.
        const LEAST: usize = 16;
        match self.width.map(|width| width.saturating_sub(taken).max(LEAST)) {
            Some(room) if columns(text) > room => format!("{}…", head(text, room - 1)),
            Some(_) | None => text.to_owned(),
        }
    }
}

/// How many columns `text` takes on a terminal.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(width_of).sum()
}

fn width_of(sign: char) -> usize {
    sign.width().unwrap_or(0)
}

/// The first `width` columns of `text`; a wide character that stands across is not among them.
fn head(text: &str, width: usize) -> &str {
    let mut taken = 0;
    let across = text.char_indices().find(|(_, sign)| {
        taken += width_of(*sign);
        taken > width
    });
    &text[..across.map_or(text.len(), |(at, _)| at)]
}

/// On one line; a control character of another client's message never reaches the terminal.
pub(crate) fn one_line(text: &str) -> String {
    let harmless = |letter: char| match letter {
        '\n' | '\t' => ' ',
        letter if nodewell_printable::is_hidden(letter) => char::REPLACEMENT_CHARACTER,
        letter => letter,
    };
    text.trim_end().chars().map(harmless).collect()
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
