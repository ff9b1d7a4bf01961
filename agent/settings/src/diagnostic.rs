//! What is reported of a file that an operator wrote: errors, which stop it from being used, and notes, which do not.

use std::{fmt, path::PathBuf};

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    pub file: PathBuf,
    /// Counted from 1; 0 is the file as a whole, such as one that cannot be read.
    pub line: usize,
}

/// Something that must be put right before the rules can be used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Diagnostic {
    pub location: Location,
    /// What is wrong and what to write instead, in one line.
    pub message: String,
}

/// Something worth knowing, such as where we differ from Node Problem Detector on purpose.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    pub location: Location,
    /// One line.
    pub message: String,
}

impl Diagnostic {
    /// An error at a location.
    #[must_use]
    pub fn new(location: Location, message: impl Into<String>) -> Self {
        Self { location, message: message.into() }
    }

    /// An error of the whole file, such as one that cannot be read.
    #[must_use]
    pub fn of_file(file: impl Into<PathBuf>, message: impl Into<String>) -> Self {
        Self::new(Location { file: file.into(), line: 0 }, message)
    }
}

impl Note {
    /// A note at a location.
    #[must_use]
    pub fn new(location: Location, message: impl Into<String>) -> Self {
        Self { location, message: message.into() }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.file.display()),
            line => write!(f, "{}:{line}", self.file.display()),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.message)
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.message)
    }
}
