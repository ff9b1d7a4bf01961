//! What the output can show: colours, characters, columns.

use std::io::IsTerminal;

use unicode_width::UnicodeWidthChar;

/// How text may look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    pub colours: bool,
    /// Columns; `None`: lines are as long as they are.
    pub width: Option<usize>,
    /// Lines of the terminal; without one there is no bound.
    pub height: usize,
    /// Whether signs beyond ASCII can be shown.
    pub unicode: bool,
}

/// What a colour means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Paint {
    Bad,
    Warning,
    Good,
    Strong,
    Faint,
}

impl Look {
    /// For files and pipes: stable, whole lines.
    pub const PLAIN: Self = Self { colours: false, width: None, height: usize::MAX, unicode: true };

    /// What standard output can show right now; a terminal may be resized at any time.
    #[must_use]
    pub fn of_stdout() -> Self {
        if !std::io::stdout().is_terminal() {
            return Self::PLAIN;
        }
        let (width, height) =
            terminal_size::terminal_size().map_or((80, 24), |(width, height)| (width.0.into(), height.0.into()));
        Self { colours: wants_colours(), width: Some(width), height, unicode: locale_is_utf8() }
    }

    pub(in crate::cli) fn paint(&self, paint: Paint, text: &str) -> String {
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

    /// `sign` where it can be shown, else `plain`.
    pub(in crate::cli) fn sign(&self, sign: &'static str, plain: &'static str) -> &'static str {
        if self.unicode { sign } else { plain }
    }

    /// Columns of a line that are left where `taken` are.
    pub(in crate::cli) fn room_beside(&self, taken: usize) -> usize {
        self.width.map_or(usize::MAX, |width| width.saturating_sub(taken))
    }

    /// `text` on one line and in at most `width` columns; a control character never reaches the terminal.
    pub(in crate::cli) fn fit(&self, text: &str, width: usize) -> String {
        let line = one_line(text);
        if columns(&line) <= width {
            return line;
        }
        let more = self.sign("…", "...");
        let (head, _) = split_at_column(&line, width.saturating_sub(columns(more)));
        head.chars().chain(more.chars().take(width)).collect()
    }
}

/// How many columns `text` takes on a terminal.
pub(in crate::cli) fn columns(text: &str) -> usize {
    text.chars().map(width_of).sum()
}

/// `text` with blanks up to `width` columns.
pub(in crate::cli) fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

/// `text` before and after its first `width` columns; a wide character that stands across is after.
pub(in crate::cli) fn split_at_column(text: &str, width: usize) -> (&str, &str) {
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

/// `text` with line breaks as spaces and other control characters made harmless.
pub(crate) fn one_line(text: &str) -> String {
    text.trim_end()
        .chars()
        .map(|c| match c {
            '\n' | '\t' => ' ',
            c if nodewell_printable::is_hidden(c) => char::REPLACEMENT_CHARACTER,
            c => c,
        })
        .collect()
}

/// <https://no-color.org>: any value that is not empty means no.
fn wants_colours() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

fn locale_is_utf8() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty())
        .unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_to_its_column() {
        let ascii = Look { unicode: false, ..Look::PLAIN };
        for (look, text, width, fitted) in [
            (Look::PLAIN, "short", 10, "short"),
            (Look::PLAIN, "exactly", 7, "exactly"),
            (Look::PLAIN, "too long", 5, "too …"),
            (ascii, "too long", 6, "too..."),
            (ascii, "too long", 2, ".."),
            (Look::PLAIN, "a\nb\x1b[31mc\n", 20, "a b\u{fffd}[31mc"),
            (Look::PLAIN, "中文字", 6, "中文字"),
            (Look::PLAIN, "中文字", 5, "中文…"),
            (Look::PLAIN, "中文字", 4, "中…"),
            (Look::PLAIN, "e\u{301}e\u{301}", 2, "e\u{301}e\u{301}"),
            (Look::PLAIN, "x", 0, ""),
        ] {
            let shown = look.fit(text, width);
            assert_eq!(shown, fitted);
            assert!(columns(&shown) <= width, "{shown}");
        }
    }

    #[test]
    fn blanks_are_counted_in_columns() {
        assert_eq!(pad("中文", 6), "中文  ");
        assert_eq!(pad("longer", 3), "longer");
    }

    #[test]
    fn without_colours_nothing_is_painted() {
        assert_eq!(Look::PLAIN.paint(Paint::Bad, "x"), "x");
        let colours = Look { colours: true, ..Look::PLAIN };
        assert_eq!(colours.paint(Paint::Bad, "x"), "\x1b[1;31mx\x1b[0m");
    }
}
