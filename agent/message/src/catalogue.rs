//! The catalogue: templates by key, read from the files that are part of a program.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::template::{EVENT_LIMIT, Figures, LIMIT, Piece, fill, pieces};

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The reason it is given with, or `CONDITION/healthy`; `REASON/variant` where a reason has several messages.
    pub key: String,
    /// Thing, figure, limit, next step; figures in braces.
    pub text: String,
    /// A figure for each place, for the reference.
    #[serde(default)]
    pub example: BTreeMap<String, String>,
    /// Only Events have it, and it quotes others (lines of a log, evidence): [`EVENT_LIMIT`] is its limit.
    #[serde(default)]
    pub quotes: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    message: Vec<Entry>,
}

/// All messages of a program.
#[derive(Debug, Default)]
pub struct Catalogue {
    entries: BTreeMap<String, Entry>,
    /// What is wrong with the files themselves.
    pub(crate) broken: Vec<String>,
}

impl Catalogue {
    /// Reads files that are part of the program. What cannot be read is listed by [`Self::errors`], which a test asks.
    #[must_use]
    pub fn read(files: &[&str]) -> Self {
        let mut catalogue = Self::default();
        for file in files {
            match toml::from_str::<File>(file) {
                Ok(file) => file.message.into_iter().for_each(|entry| catalogue.add(entry)),
                Err(error) => catalogue.broken.push(error.to_string()),
            }
        }
        catalogue
    }

    fn add(&mut self, entry: Entry) {
        if let Some(first) = self.entries.insert(entry.key.clone(), entry) {
            self.broken.push(format!("{}: listed twice", first.key));
        }
    }

    /// All messages, by key.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// The message of `key` with its figures: one line of at most [`Entry::limit`] bytes.
    ///
    /// # Panics
    /// In debug builds, if there is no such message or if its figures are others than these: a bug that tests find.
    #[must_use]
    pub fn compose(&self, key: &str, figures: Figures<'_>) -> String {
        let Some(entry) = self.entries.get(key) else {
            debug_assert!(false, "no message {key}");
            return key.to_owned();
        };
        debug_assert!(entry.fits(figures), "{key}: the figures of {:?} are not those given", entry.text);
        fill(&entry.text, figures, entry.limit())
    }
}

impl Entry {
    /// The message with the figures of its example.
    #[must_use]
    pub fn shown(&self) -> String {
        let figures: Vec<(&str, &dyn std::fmt::Display)> =
            self.example.iter().map(|(name, figure)| (name.as_str(), figure as &dyn std::fmt::Display)).collect();
        fill(&self.text, &figures, self.limit())
    }

    /// The most bytes that it has with its figures.
    #[must_use]
    pub fn limit(&self) -> usize {
        if self.quotes { EVENT_LIMIT } else { LIMIT }
    }

    /// Names of its places.
    pub(crate) fn places(&self) -> impl Iterator<Item = &str> {
        pieces(&self.text).into_iter().filter_map(|piece| match piece {
            Piece::Figure(name) => Some(name),
            Piece::Words(_) => None,
        })
    }

    /// Whether each place has its figure, and each figure its place.
    fn fits(&self, figures: Figures<'_>) -> bool {
        let is_given = |place: &str| figures.iter().any(|(name, _)| *name == place);
        self.places().all(is_given) && figures.iter().all(|(name, _)| self.places().any(|place| place == *name))
    }
}
