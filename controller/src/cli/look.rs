//! What the place where text goes can show.

use std::io::IsTerminal;

/// Whether colours may be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) colours: bool,
}

/// What a colour means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    Bad,
    Warning,
    Good,
    Strong,
}

impl Look {
    /// For files and pipes.
    #[cfg(test)]
    pub(super) const PLAIN: Self = Self { colours: false };

    /// What standard output can show; <https://no-color.org>: any value that is not empty means no.
    pub(super) fn of_stdout() -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { colours: std::io::stdout().is_terminal() && !no_color && !dumb }
    }

    pub(super) fn paint(self, paint: Paint, text: &str) -> String {
        if !self.colours || text.is_empty() {
            return text.to_owned();
        }
        let code = match paint {
            Paint::Bad => "1;31",
            Paint::Warning => "33",
            Paint::Good => "32",
            Paint::Strong => "1",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// Columns for what is laid out: the terminal's, or those of `COLUMNS`, or what fits most.
pub(super) fn width() -> usize {
    const WIDEST: usize = 140;
    const NARROWEST: usize = 40;
    let of_terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let of_environment = || std::env::var("COLUMNS").ok()?.parse().ok();
    of_terminal().or_else(of_environment).unwrap_or(120).clamp(NARROWEST, WIDEST)
}

/// On one line; a control character of another client's message never reaches the terminal.
pub(super) fn one_line(text: &str) -> String {
    let harmless = |letter: char| match letter {
        '\n' | '\t' => ' ',
        letter if nodewell_printable::is_hidden(letter) => char::REPLACEMENT_CHARACTER,
        letter => letter,
    };
    text.trim_end().chars().map(harmless).collect()
}
