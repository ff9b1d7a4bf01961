//! Standard output: text and JSON, with a closed pipe as an ordinary error.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use super::error::CommandError;

/// Where a command writes.
pub(super) struct Out {
    writer: Box<dyn Write>,
    terminal: bool,
}

impl Out {
    /// This process's own.
    pub(super) fn stdout() -> Self {
        let writer = Box::new(io::BufWriter::new(io::stdout().lock()));
        Self { writer, terminal: io::stdout().is_terminal() }
    }

    pub(super) fn is_terminal(&self) -> bool {
        self.terminal
    }

    pub(super) fn line(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.writer, "{line}")
    }

    pub(super) fn text(&mut self, text: &str) -> io::Result<()> {
        self.writer.write_all(text.as_bytes())
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }

    /// `value` over several lines.
    pub(super) fn json<T: Serialize>(&mut self, value: &T) -> Result<(), CommandError> {
        serde_json::to_writer_pretty(&mut self.writer, value).map_err(CommandError::json)?;
        Ok(self.line("")?)
    }

    /// `value` on one line.
    pub(super) fn json_row<T: Serialize>(&mut self, value: &T) -> Result<(), CommandError> {
        serde_json::to_writer(&mut self.writer, value).map_err(CommandError::json)?;
        Ok(self.line("")?)
    }
}
