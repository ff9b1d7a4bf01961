//! Strings with a meaning.

use std::path::PathBuf;

use super::{quoted, words};
use crate::{Kind, Report, Schema, Section};

/// A word of a fixed list.
pub struct Choice<T: 'static>(pub &'static [(&'static str, T)]);

impl<T: Copy + PartialEq> Kind for Choice<T> {
    type Of = T;

    fn read(&self, section: Section<'_>, key: &'static str, report: &mut Report<'_>) -> Option<T> {
        section.choice(key, self.0, report)
    }

    fn shown(&self, value: &T) -> Option<String> {
        self.0.iter().find(|(_, known)| known == value).map(|(word, _)| quoted(word))
    }

    fn takes(&self) -> String {
        words(&self.0.iter().map(|(word, _)| *word).collect::<Vec<_>>())
    }

    fn schema(&self) -> Schema {
        Schema::Words(self.0.iter().map(|(word, _)| *word).collect())
    }
}

/// A string that is read and written by functions of its own; an error begins behind the key's name.
pub struct Word<T: 'static> {
    pub takes: &'static str,
    pub read: fn(&str) -> Result<T, String>,
    pub shown: fn(&T) -> String,
}

impl<T> Kind for Word<T> {
    type Of = T;

    fn read(&self, section: Section<'_>, key: &'static str, report: &mut Report<'_>) -> Option<T> {
        let word = section.string(key, report)?;
        (self.read)(word.text).map_err(|error| report.error(word.at, format!("{key:?}: {error}"))).ok()
    }

    fn shown(&self, value: &T) -> Option<String> {
        Some(quoted(&(self.shown)(value)))
    }

    fn takes(&self) -> String {
        self.takes.to_owned()
    }

    fn schema(&self) -> Schema {
        Schema::ANY_TEXT
    }
}

/// A cluster's name, which is a label of every metric.
pub const CLUSTER: Word<String> = Word { takes: "a cluster's name", read: cluster, shown: String::clone };
const CLUSTER_LIMIT: usize = 253;

/// Any that a cloud gives: `east-1`, `gke_shop_europe-west1_prod`, `arn:aws:eks:…:cluster/prod`.
fn cluster(word: &str) -> Result<String, String> {
    let fits = (1..=CLUSTER_LIMIT).contains(&word.len()) && word.chars().all(|letter| letter.is_ascii_graphic());
    let wrong =
        || format!("{word:?} is no cluster's name: up to {CLUSTER_LIMIT} letters, digits and signs, and no blank");
    if fits { Ok(word.to_owned()) } else { Err(wrong()) }
}

/// Any string but a blank one.
pub struct Text;

impl Kind for Text {
    type Of = String;

    fn read(&self, section: Section<'_>, key: &'static str, report: &mut Report<'_>) -> Option<String> {
        section.written(key, report).map(|word| word.text.to_owned())
    }

    fn shown(&self, value: &String) -> Option<String> {
        Some(quoted(value))
    }

    fn takes(&self) -> String {
        "a string".to_owned()
    }

    fn schema(&self) -> Schema {
        Schema::NOT_BLANK
    }
}

/// A path of a file or a folder.
pub struct Path;

impl Kind for Path {
    type Of = PathBuf;

    fn read(&self, section: Section<'_>, key: &'static str, report: &mut Report<'_>) -> Option<PathBuf> {
        section.written(key, report).map(|word| word.text.into())
    }

    fn shown(&self, value: &PathBuf) -> Option<String> {
        Some(quoted(&value.to_string_lossy()))
    }

    fn takes(&self) -> String {
        "a path".to_owned()
    }

    fn schema(&self) -> Schema {
        Schema::NOT_BLANK
    }
}
