//! Standard output: text and documents, with a closed pipe as an ordinary error.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use super::{
    error::{CommandError, SOFTWARE},
    output::Document,
};

/// Where a command writes.
pub(super) struct Out {
    writer: Box<dyn Write>,
    terminal: bool,
    /// Room for a row, which is written in one piece.
    row: Vec<u8>,
}

impl Out {
    /// This process's own.
    pub(super) fn stdout() -> Self {
        let writer = Box::new(io::BufWriter::new(io::stdout().lock()));
        Self { writer, terminal: io::stdout().is_terminal(), row: Vec::new() }
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

    /// `value` as a whole document.
    pub(super) fn document<T: Serialize>(&mut self, form: Document, value: &T) -> Result<(), CommandError> {
        match form {
            Document::Json => {
                serde_json::to_writer_pretty(&mut self.writer, value).map_err(CommandError::json)?;
                Ok(self.line("")?)
            }
            Document::Yaml => Ok(self.text(&yaml(value)?)?),
        }
    }

    /// A line of JSON that `write` appends to what it is given.
    pub(super) fn json_row(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        self.row.clear();
        write(&mut self.row);
        self.row.push(b'\n');
        self.writer.write_all(&self.row)
    }

    /// `value` as one of many: a line of JSON, or a document of a YAML stream.
    pub(super) fn row<T: Serialize>(&mut self, form: Document, value: &T) -> Result<(), CommandError> {
        match form {
            Document::Json => {
                self.row.clear();
                serde_json::to_writer(&mut self.row, value).map_err(CommandError::json)?;
                self.row.push(b'\n');
                Ok(self.writer.write_all(&self.row)?)
            }
            Document::Yaml => Ok(self.text(&format!("---\n{}", yaml(value)?))?),
        }
    }
}

/// Made of the same values as JSON: names, numbers, texts and lists alone.
fn yaml<T: Serialize>(value: &T) -> Result<String, CommandError> {
    let value = serde_json::to_value(value).map_err(CommandError::json)?;
    serde_saphyr::to_string(&value).map_err(|error| CommandError::new(SOFTWARE, format!("cannot write YAML: {error}")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn yaml_is_read_back_as_what_was_written() {
        let value = json!({
            "node": "node-1", "status": "False", "unknown": null, "yes": true, "count": 7, "none": [], "empty": "",
            "words": ["True", "no", "null", "0x10", "1e3", "- a", "a: b", "#c", "'", "\"", "*a", "2026-11-26", "~", "é中"],
            "text": "two\nlines, \u{1b}[2J, \u{85}, \u{202e}and a tail ",
            "deep": [{"a": 1, "b": [{"c": "d"}]}],
        });
        let text = yaml(&value).unwrap();
        assert_eq!(serde_saphyr::from_str::<Value>(&text).unwrap(), value, "{text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }
}
