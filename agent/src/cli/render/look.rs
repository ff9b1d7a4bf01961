//! What the output can show: colours, characters, columns.

use std::io::IsTerminal;

use nodewell_command::wants_colours;
pub(crate) use nodewell_command::{Paint, columns, one_line, split_at_column};

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
        paint.on(text, self.colours)
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

/// `text` with blanks up to `width` columns.
pub(in crate::cli) fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
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
