//! What keys take, for programs: packaging/pages writes JSON Schemas of it, by which editors complete and check a file. A
//! schema never refuses what the reader takes. The reader refuses more: how long a duration may be, what has to fit together.

use std::ops::RangeInclusive;

use crate::{Kind, kind::words};

/// The values of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Schema {
    Bool,
    /// Whole numbers.
    Number(RangeInclusive<u32>),
    /// Strings in which this regular expression is found. JSON Schema has the expressions of ECMA-262: only what those and
    /// Rust's have in common stands here.
    Text(&'static str),
    /// These strings.
    Words(Vec<&'static str>),
    List {
        of: Box<Self>,
        length: RangeInclusive<usize>,
    },
    /// What one of these takes.
    AnyOf(Vec<Self>),
}

impl Schema {
    pub const ANY_TEXT: Self = Self::Text("");
    /// What stands in a list: the reader takes a blank string there.
    pub const NOT_EMPTY: Self = Self::Text(r"[\s\S]");
    pub const NOT_BLANK: Self = Self::Text(r"\S");
    /// A reason or a condition type.
    pub const NAME: Self = Self::Text("^[A-Z][A-Za-z0-9]*$");
    pub const DURATION: Self = Self::Text("^([0-9]+(d|h|m|s|ms))+$");

    #[must_use]
    pub fn list(of: Self, length: RangeInclusive<usize>) -> Self {
        Self::List { of: Box::new(of), length }
    }

    /// A list of strings, which [`Section::list`](crate::Section::list) reads.
    #[must_use]
    pub fn strings(of: Self, length: RangeInclusive<usize>) -> Self {
        Self::list(of, length)
    }
}

/// A table that may stand any number of times, and its keys. It is read by a function of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedTable {
    /// Its key in the file: `repair.unit`.
    pub name: &'static str,
    /// What it is about, in a sentence.
    pub about: &'static str,
    pub keys: Vec<ListedKey>,
}

/// One of its keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedKey {
    pub name: &'static str,
    /// What it takes, for people: `a duration from 5s to 7d`.
    pub takes: String,
    /// The same, for programs.
    pub schema: Schema,
    /// What it is for, in a sentence or two.
    pub help: &'static str,
    /// What holds without it, as a file would have it; `None` where that is no value.
    pub usual: Option<String>,
    /// The table is wrong without it.
    pub is_required: bool,
}

impl ListedTable {
    /// The names of its keys.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name).collect()
    }
}

impl ListedKey {
    /// One that takes what no [`Kind`] does.
    #[must_use]
    pub fn new(name: &'static str, takes: &str, schema: Schema, help: &'static str) -> Self {
        Self { name, takes: takes.to_owned(), schema, help, usual: None, is_required: false }
    }

    /// One that takes what `kind` does.
    #[must_use]
    pub fn of(name: &'static str, kind: &impl Kind, help: &'static str) -> Self {
        Self::new(name, &kind.takes(), kind.schema(), help)
    }

    /// One of these words.
    #[must_use]
    pub fn word(name: &'static str, known: Vec<&'static str>, help: &'static str) -> Self {
        Self::new(name, &words(&known), Schema::Words(known), help)
    }

    /// A reason or a condition type.
    #[must_use]
    pub fn camel_case(name: &'static str, help: &'static str) -> Self {
        Self::new(name, "a CamelCase name", Schema::NAME, help)
    }

    /// One or several of these.
    #[must_use]
    pub fn camel_cases(name: &'static str, help: &'static str) -> Self {
        Self::new(name, "a list of CamelCase names", Schema::strings(Schema::NAME, 1..=usize::MAX), help)
    }

    /// What a [`Kind`] shows of the value that holds without it.
    #[must_use]
    pub fn usual(self, usual: Option<String>) -> Self {
        Self { usual, ..self }
    }

    #[must_use]
    pub fn required(self) -> Self {
        Self { is_required: true, ..self }
    }
}
