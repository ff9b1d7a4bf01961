//! An error in a file: where, what, and what to do.

use std::{fmt, path::Path};

use serde_json::{Value, json};

/// One error, shown as `file:line: what`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    file: String,
    line: Option<usize>,
    message: String,
}

impl Diagnostic {
    pub(crate) fn at(file: &Path, line: usize, message: impl Into<String>) -> Self {
        Self { file: file.display().to_string(), line: Some(line), message: message.into() }
    }

    pub(crate) fn of_file(file: &Path, message: impl Into<String>) -> Self {
        Self { file: file.display().to_string(), line: None, message: message.into() }
    }

    /// For scripts; no line where it is of the whole file.
    #[must_use]
    pub fn as_json(&self) -> Value {
        json!({ "file": self.file, "line": self.line, "message": self.message })
    }

    /// Of what all files and flags mean together.
    pub(crate) fn of_all(message: impl Into<String>) -> Self {
        Self { file: "the configuration".into(), line: None, message: message.into() }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}
