//! An operator's overrides of a shipped table. The reasons stay as they are: scripts rely on them.
//!
//! ```toml
//! [[xid]]
//! code = 63
//! condition = "GpuUnhealthy"   # "none": an Event only
//! severity = "error"
//! action = "reset-gpu"
//! from = 575                   # only drivers of branch 575 and newer; `before` is the other end
//! ```

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use nodewell_model::{Action, Name, Severity};
use serde::Deserialize;
use toml::Spanned;

use super::{
    Codes, Meaning,
    entry::{Changes, Difference, Entry},
};
use crate::Branch;

/// The conditions that a code may hold.
const CONDITIONS: [&str; 2] = ["GpuUnhealthy", "GpuFabricUnhealthy"];

/// A file of overrides.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Overrides {
    #[serde(default)]
    pub(crate) xid: Vec<Override>,
    #[serde(default)]
    pub(crate) sxid: Vec<Override>,
}

/// An operator's override of one code.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Override {
    code: Spanned<u32>,
    /// Where its code stands, counted from 1.
    #[serde(skip)]
    line: usize,
    /// Only for a code that the shipped table does not have.
    name: Option<String>,
    condition: Option<String>,
    severity: Option<Severity>,
    action: Option<Action>,
    meaning: Option<String>,
    from: Option<Branch>,
    before: Option<Branch>,
}

/// Why an operator's file is not used.
#[derive(Debug, thiserror::Error)]
pub enum OverrideError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    /// Every diagnostic in the file.
    #[error("{}", placed(path, diagnostics))]
    Invalid { path: PathBuf, diagnostics: Vec<OverrideDiagnostic> },
}

/// One thing that is wrong in such a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverrideDiagnostic {
    /// Counted from 1; 0 is the file as a whole.
    pub line: usize,
    /// One line.
    pub message: String,
}

impl OverrideError {
    /// Each diagnostic by itself, in the order of the lines.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<OverrideDiagnostic> {
        match self {
            Self::Read { source, .. } => {
                vec![OverrideDiagnostic { line: 0, message: format!("cannot be read: {source}") }]
            }
            Self::Invalid { diagnostics, .. } => diagnostics.clone(),
        }
    }
}

fn placed(path: &Path, diagnostics: &[OverrideDiagnostic]) -> String {
    let shown =
        diagnostics.iter().map(|diagnostic| format!("{}:{}: {}", path.display(), diagnostic.line, diagnostic.message));
    shown.collect::<Vec<_>>().join("; ")
}

/// The text of the file at `path`.
pub(crate) fn read(path: &Path) -> Result<String, OverrideError> {
    std::fs::read_to_string(path).map_err(|source| OverrideError::Read { path: path.to_owned(), source })
}

impl Overrides {
    /// Parses the overrides in `text`, the content of the file at `path`.
    pub(crate) fn parse(text: &str, path: &Path) -> Result<Self, OverrideError> {
        let mut overrides: Self = toml::from_str(text).map_err(|error| {
            let message = error.message().lines().next().unwrap_or_default().to_owned();
            let diagnostic =
                OverrideDiagnostic { line: line_at(text, error.span().map_or(0, |span| span.start)), message };
            OverrideError::Invalid { path: path.to_owned(), diagnostics: vec![diagnostic] }
        })?;
        for change in overrides.xid.iter_mut().chain(&mut overrides.sxid) {
            change.line = line_at(text, change.code.span().start);
        }
        Ok(overrides)
    }
}

/// The line, counted from 1, of a byte offset.
fn line_at(text: &str, offset: usize) -> usize {
    text.get(..offset).unwrap_or(text).matches('\n').count() + 1
}

impl Codes {
    /// Applies `overrides`, those of the file at `path`, to the table.
    pub(crate) fn merged(&self, overrides: &[Override], path: &Path) -> Result<Self, OverrideError> {
        let mut codes = self.clone();
        let table: Arc<str> = path.display().to_string().into();
        let mut diagnostics = Vec::new();
        for change in overrides {
            if let Err(message) = codes.apply(change, &table) {
                diagnostics.push(OverrideDiagnostic { line: change.line, message });
            }
        }
        if diagnostics.is_empty() {
            Ok(codes)
        } else {
            Err(OverrideError::Invalid { path: path.to_owned(), diagnostics })
        }
    }

    fn apply(&mut self, change: &Override, table: &Arc<str>) -> Result<(), String> {
        let difference = change.difference(table)?;
        let (prefix, code) = (self.prefix, change.code());
        match (self.entries.get_mut(&code), &change.name) {
            (Some(_), Some(_)) => Err(format!("code {code}: its name is fixed, scripts rely on it")),
            (Some(entry), None) => {
                entry.differences.push(difference);
                Ok(())
            }
            (None, name) => {
                let unlisted = self.unlisted(code);
                let entry = change.entry(prefix, name.as_deref().unwrap_or("Unlisted"), unlisted, difference)?;
                self.entries.insert(code, entry);
                Ok(())
            }
        }
    }
}

impl Override {
    fn code(&self) -> u32 {
        *self.code.get_ref()
    }

    fn difference(&self, table: &Arc<str>) -> Result<Difference, String> {
        let condition = self.condition.as_deref().map(|text| self.condition(text)).transpose()?;
        let meaning = self.meaning.as_deref().map(Arc::from);
        if self.from.zip(self.before).is_some_and(|(from, before)| from >= before) {
            return Err(format!("code {}: no branch is from and before these", self.code()));
        }
        let changes = Changes {
            condition,
            severity: self.severity,
            action: self.action,
            meaning,
            table: Some(Arc::clone(table)),
        };
        Ok(Difference { from: self.from, before: self.before, changes })
    }

    fn condition(&self, text: &str) -> Result<Option<Name>, String> {
        match CONDITIONS.into_iter().find(|known| *known == text) {
            Some(known) => Ok(Some(Name::fixed(known))),
            None if text == "none" => Ok(None),
            None => {
                Err(format!("code {}: condition takes {} or none, not {text:?}", self.code(), CONDITIONS.join(", ")))
            }
        }
    }

    /// An entry for a code that the shipped table does not have: as it is without one, and what the operator changes.
    fn entry(&self, prefix: &str, name: &str, unlisted: Meaning, difference: Difference) -> Result<Entry, String> {
        let reason = format!("{prefix}{}{name}", self.code());
        let sound = name.starts_with(|c: char| c.is_ascii_uppercase()) && Name::new(&reason).is_ok();
        if !sound {
            return Err(format!("code {}: name takes a CamelCase word, not {name:?}", self.code()));
        }
        Ok(Entry {
            name: name.to_owned(),
            condition: unlisted.condition,
            severity: unlisted.severity,
            action: unlisted.action,
            fatal: unlisted.fatal,
            nonfatal: unlisted.nonfatal,
            meaning: "A code that the shipped table does not have.".into(),
            choice: "".into(),
            vendor: unlisted.vendor,
            table: unlisted.table,
            differences: vec![difference],
        })
    }
}
