//! Colours and columns of a terminal.

use unicode_width::UnicodeWidthChar;

/// What a colour means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    Bad,
    Warning,
    Good,
    Strong,
    Faint,
}

impl Paint {
    /// `text` in this colour, if `colours` can be shown.
    #[must_use]
    pub fn on(self, text: &str, colours: bool) -> String {
        if !colours || text.is_empty() {
            return text.to_owned();
        }
        let code = match self {
            Self::Bad => "1;31",
            Self::Warning => "33",
            Self::Good => "32",
            Self::Strong => "1",
            Self::Faint => "2",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// Whether a terminal gets colours. <https://no-color.org>: any value that is not empty means no.
#[must_use]
pub fn wants_colours() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// How many columns `text` takes on a terminal.
#[must_use]
pub fn columns(text: &str) -> usize {
    text.chars().map(width_of).sum()
}

/// `text` before and after its first `width` columns; a wide character that stands across is after.
#[must_use]
pub fn split_at_column(text: &str, width: usize) -> (&str, &str) {
    let mut taken = 0;
    let across = text.char_indices().find(|(_, sign)| {
        taken += width_of(*sign);
        taken > width
    });
    text.split_at(across.map_or(text.len(), |(at, _)| at))
}

fn width_of(sign: char) -> usize {
    sign.width().unwrap_or(0)
}

/// `text` with line breaks as spaces and other control characters made harmless: none of another client's message reaches
/// the terminal.
#[must_use]
pub fn one_line(text: &str) -> String {
    let harmless = |sign: char| match sign {
        '\n' | '\t' => ' ',
        sign if nodewell_printable::is_hidden(sign) => char::REPLACEMENT_CHARACTER,
        sign => sign,
    };
    text.trim_end().chars().map(harmless).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_drives_a_terminal_does_not_reach_it() {
        assert_eq!(one_line("a\nb\x1b[31mc\u{202e}d\n"), "a b\u{fffd}[31mc\u{fffd}d");
        assert_eq!((Paint::Bad.on("x", true), Paint::Bad.on("x", false)), ("\x1b[1;31mx\x1b[0m".into(), "x".into()));
    }

    #[test]
    fn a_wide_character_across_the_column_is_after_it() {
        assert_eq!(split_at_column("中文字", 4), ("中文", "字"));
        assert_eq!(split_at_column("中文字", 3), ("中", "文字"));
        assert_eq!((split_at_column("ab", 9), columns("中文e\u{301}")), (("ab", ""), 5));
    }
}
