//! What the place where text goes can show.

use std::io::IsTerminal;

use nodewell_command::wants_colours;
pub(super) use nodewell_command::{Paint, one_line};

/// Whether colours may be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) colours: bool,
}

impl Look {
    /// For files and pipes.
    #[cfg(test)]
    pub(super) const PLAIN: Self = Self { colours: false };

    /// What standard output can show.
    pub(super) fn of_stdout() -> Self {
        Self { colours: std::io::stdout().is_terminal() && wants_colours() }
    }

    pub(super) fn paint(self, paint: Paint, text: &str) -> String {
        paint.on(text, self.colours)
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
