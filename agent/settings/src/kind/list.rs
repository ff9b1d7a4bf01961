//! Lists of strings. An empty list removes what another file named.

use std::path::PathBuf;

use super::quoted;
use crate::{Kind, Report, Schema, Section};

/// Any strings.
pub struct Strings;

/// Patterns of names.
pub struct Globs;

/// Paths, all absolute or not.
pub struct Paths {
    pub absolute: bool,
}

/// The strings under `key`.
pub fn string_list(section: Section<'_>, key: &str, report: &mut Report<'_>) -> Option<Vec<String>> {
    let value = section.value(key)?;
    if value.get_ref().as_array().is_some_and(|items| items.is_empty()) {
        return Some(Vec::new());
    }
    Some(section.list(key, report).into_iter().map(|word| word.text.to_owned()).collect())
}

fn shown<'a>(values: impl Iterator<Item = std::borrow::Cow<'a, str>>) -> Option<String> {
    let values: Vec<String> = values.map(|value| quoted(&value)).collect();
    Some(format!("[{}]", values.join(", ")))
}

impl Kind for Strings {
    type Of = Vec<String>;

    fn read(&self, section: Section<'_>, key: &'static str, report: &mut Report<'_>) -> Option<Vec<String>> {
        string_list(section, key, report)
    }

    fn shown(&self, value: &Vec<String>) -> Option<String> {
        shown(value.iter().map(Into::into))
    }

    fn takes(&self) -> String {
        "a list of strings".to_owned()
    }

    fn schema(&self) -> Schema {
        Schema::strings(Schema::NOT_EMPTY, 0..=usize::MAX)
    }
}

impl Kind for Globs {
    type Of = Vec<String>;

    /// Each is tried here, so that an error is reported with its line.
    fn read(&self, section: Section<'_>, key: &'static str, report: &mut Report<'_>) -> Option<Vec<String>> {
        let globs = string_list(section, key, report)?;
        for glob in &globs {
            if let Err(error) = glob::Pattern::new(glob) {
                report.error(section.position(key), format!("{glob:?} is no pattern of names: {error}"));
            }
        }
        Some(globs)
    }

    fn shown(&self, value: &Vec<String>) -> Option<String> {
        Strings.shown(value)
    }

    fn takes(&self) -> String {
        "a list of patterns".to_owned()
    }

    fn schema(&self) -> Schema {
        Strings.schema()
    }
}

impl Kind for Paths {
    type Of = Vec<PathBuf>;

    fn read(&self, section: Section<'_>, key: &'static str, report: &mut Report<'_>) -> Option<Vec<PathBuf>> {
        let paths: Vec<PathBuf> = string_list(section, key, report)?.into_iter().map(PathBuf::from).collect();
        for path in paths.iter().filter(|path| self.absolute && !path.is_absolute()) {
            report.error(section.position(key), format!("{} is no absolute path", path.display()));
        }
        Some(paths)
    }

    fn shown(&self, value: &Vec<PathBuf>) -> Option<String> {
        shown(value.iter().map(|path| path.to_string_lossy()))
    }

    fn takes(&self) -> String {
        format!("a list of {}paths", if self.absolute { "absolute " } else { "" })
    }

    fn schema(&self) -> Schema {
        let path = if self.absolute { Schema::Text("^/") } else { Schema::NOT_EMPTY };
        Schema::strings(path, 0..=usize::MAX)
    }
}
