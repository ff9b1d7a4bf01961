//! One entry of a table of codes, and how a table's text becomes entries.

use std::{collections::BTreeMap, sync::Arc};

use nodewell_model::{Action, Name, Severity};
use serde::Deserialize;

use super::{Codes, LineVerdict, Meaning, Operators};
use crate::Branch;

/// A table's entry for one code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) condition: Option<Name>,
    pub(super) severity: Severity,
    pub(super) action: Action,
    pub(super) fatal: Option<LineVerdict>,
    pub(super) nonfatal: Option<LineVerdict>,
    pub(super) meaning: Arc<str>,
    pub(super) choice: Arc<str>,
    pub(super) vendor: Arc<str>,
    pub(super) table: Arc<str>,
    /// What differs in some driver branches; a later one wins.
    pub(super) differences: Vec<Difference>,
}

/// What differs in the branches from `from` up to, not including, `before`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) from: Option<Branch>,
    pub(super) before: Option<Branch>,
    pub(super) changes: Changes,
}

/// What replaces an entry's own values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Changes {
    /// `Some(None)`: an Event only.
    pub(super) condition: Option<Option<Name>>,
    pub(super) severity: Option<Severity>,
    pub(super) action: Option<Action>,
    pub(super) meaning: Option<Arc<str>>,
    pub(super) table: Option<Arc<str>>,
}

/// Why a shipped table is not one.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    #[error("code {0} stands twice")]
    Twice(u32),
    #[error("an entry has neither code nor codes, or both")]
    NoCode,
    #[error("{0:?} is not the end of a CamelCase reason")]
    Name(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    table: String,
    #[serde(default)]
    entry: Vec<Written>,
}

/// An entry as it is written: for one code, or for several of a kind.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    code: Option<u32>,
    #[serde(default)]
    codes: Vec<u32>,
    name: String,
    condition: Option<Name>,
    severity: Severity,
    action: Action,
    fatal: Option<LineVerdict>,
    nonfatal: Option<LineVerdict>,
    nvidia: String,
    meaning: String,
    #[serde(default)]
    choice: String,
}

impl Codes {
    /// Reads a table's text.
    pub(crate) fn read(prefix: &'static str, text: &str) -> Result<Self, TextError> {
        let file: File = toml::from_str(text)?;
        let table: Arc<str> = file.table.into();
        let mut entries = BTreeMap::new();
        for written in &file.entry {
            for (code, entry) in written.entries(prefix, &table)? {
                if entries.insert(code, entry).is_some() {
                    return Err(TextError::Twice(code));
                }
            }
        }
        Ok(Self { prefix, entries })
    }
}

impl Written {
    fn entries(&self, prefix: &str, table: &Arc<str>) -> Result<Vec<(u32, Entry)>, TextError> {
        let codes = match (self.code, &*self.codes) {
            (Some(code), []) => vec![code],
            (None, codes @ [_, ..]) => codes.to_vec(),
            _ => return Err(TextError::NoCode),
        };
        let one = |(place, code): (usize, u32)| {
            let entry = self.entry(place, table);
            Name::new(&format!("{prefix}{code}{}", entry.name)).map_err(|_| TextError::Name(entry.name.clone()))?;
            Ok((code, entry))
        };
        codes.into_iter().enumerate().map(one).collect()
    }

    fn entry(&self, place: usize, table: &Arc<str>) -> Entry {
        let numbered = |text: &str| text.replace("{+1}", &(place + 1).to_string()).replace("{}", &place.to_string());
        Entry {
            name: numbered(&self.name),
            condition: self.condition.clone(),
            severity: self.severity,
            action: self.action,
            fatal: self.fatal.clone(),
            nonfatal: self.nonfatal.clone(),
            meaning: numbered(&self.meaning).into(),
            choice: self.choice.as_str().into(),
            vendor: self.nvidia.as_str().into(),
            table: Arc::clone(table),
            differences: Vec::new(),
        }
    }
}

impl Entry {
    pub(super) fn meaning(&self, prefix: &str, code: u32, branch: Option<Branch>) -> Meaning {
        let mut meaning = Meaning {
            code,
            reason: reason(prefix, code, &self.name),
            condition: self.condition.clone(),
            severity: self.severity,
            action: self.action,
            fatal: self.fatal.clone(),
            nonfatal: self.nonfatal.clone(),
            meaning: Arc::clone(&self.meaning),
            choice: Arc::clone(&self.choice),
            vendor: Arc::clone(&self.vendor),
            table: Arc::clone(&self.table),
            operators: Operators::default(),
        };
        let fitting = self.differences.iter().filter(|difference| difference.holds_for(branch));
        fitting.for_each(|difference| difference.changes.apply(&mut meaning));
        meaning
    }
}

impl Difference {
    /// An unknown branch is taken for the newest: the driver's line may have left the kernel's ring long ago.
    fn holds_for(&self, branch: Option<Branch>) -> bool {
        let branch = branch.unwrap_or(Branch(u32::MAX));
        self.from.is_none_or(|from| branch >= from) && self.before.is_none_or(|before| branch < before)
    }
}

impl Changes {
    fn apply(&self, meaning: &mut Meaning) {
        if let Some(condition) = &self.condition {
            meaning.condition.clone_from(condition);
            // The operator's value stands, whatever the line contains.
            (meaning.fatal, meaning.nonfatal) = (None, None);
        }
        meaning.severity = self.severity.unwrap_or(meaning.severity);
        meaning.action = self.action.unwrap_or(meaning.action);
        meaning.operators.severity |= self.severity.is_some();
        meaning.operators.action |= self.action.is_some();
        for reported in [&mut meaning.fatal, &mut meaning.nonfatal].into_iter().flatten() {
            reported.severity = self.severity.unwrap_or(reported.severity);
            reported.action = self.action.unwrap_or(reported.action);
        }
        if let Some(words) = &self.meaning {
            meaning.meaning = Arc::clone(words);
        }
        if let Some(table) = &self.table {
            meaning.table = Arc::clone(table);
        }
    }
}

/// `GpuXid` + 79 + `FallenOffBus`.
pub(super) fn reason(prefix: &str, code: u32, name: &str) -> Name {
    Name::new(&format!("{prefix}{code}{name}")).expect("names of tables are checked when they are read")
}
