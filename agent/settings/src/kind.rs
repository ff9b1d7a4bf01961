//! What keys take: each kind reads a value with every error reported, and writes it as a file would have it.

mod list;
mod number;
mod time;
mod word;

pub use list::{Globs, Paths, Strings, string_list};
pub use number::{Count, Number};
pub use time::{Time, TimeOrNone};
pub use word::{CLUSTER, Choice, Path, Text, Word};

use crate::{Report, Schema, Section, section::listed};

/// What a key takes.
pub trait Kind: 'static {
    type Of: 'static;

    /// The value under `key`, which is there; what is wrong with it is reported.
    fn read(&self, section: Section<'_>, key: &'static str, report: &mut Report<'_>) -> Option<Self::Of>;

    /// As a file would have it; `None` for what no file can write: that nothing is set.
    fn shown(&self, value: &Self::Of) -> Option<String>;

    /// For people: `a number from 1 to 100`.
    fn takes(&self) -> String;

    /// The same, for programs.
    fn schema(&self) -> Schema;
}

/// `true` or `false`.
pub struct Bool;

impl Kind for Bool {
    type Of = bool;

    fn read(&self, section: Section<'_>, key: &'static str, report: &mut Report<'_>) -> Option<bool> {
        section.boolean(key, report)
    }

    fn shown(&self, value: &bool) -> Option<String> {
        Some(value.to_string())
    }

    fn takes(&self) -> String {
        "true or false".to_owned()
    }

    fn schema(&self) -> Schema {
        Schema::Bool
    }
}

/// What may be left unset, and has no usual value then.
pub struct Maybe<K>(pub K);

impl<K: Kind> Kind for Maybe<K> {
    type Of = Option<K::Of>;

    fn read(&self, section: Section<'_>, key: &'static str, report: &mut Report<'_>) -> Option<Self::Of> {
        self.0.read(section, key, report).map(Some)
    }

    fn shown(&self, value: &Self::Of) -> Option<String> {
        value.as_ref().and_then(|value| self.0.shown(value))
    }

    fn takes(&self) -> String {
        self.0.takes()
    }

    fn schema(&self) -> Schema {
        self.0.schema()
    }
}

/// As TOML writes a string: JSON's are among its basic strings, but for a DEL, which JSON does not escape.
#[must_use]
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}

/// `"a", "b" or "c"`, each as TOML writes it.
#[must_use]
pub fn words(known: &[&str]) -> String {
    let quoted: Vec<String> = known.iter().map(|word| quoted(word)).collect();
    listed(&quoted.iter().map(String::as_str).collect::<Vec<_>>())
}
