//! The catalogue: templates by key, read from the files that are part of a program.

use std::collections::BTreeMap;

use serde::{Deserialize, de::IgnoredAny};

use crate::template::{EVENT_LIMIT, LIMIT, MessageArgs, Template};

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The reason it is given with; `REASON/variant` where a reason has several messages. `CONDITION/healthy` is for a
    /// condition without a problem; `CONDITION/ended` is why a problem is over; `REASON/figure` stands in other
    /// messages.
    pub key: String,
    /// Thing, figure, limit, next step; arguments in braces.
    pub text: String,
    /// An argument for each place, for the reference.
    #[serde(default)]
    pub example: BTreeMap<String, String>,
    /// It quotes others (lines of a log, evidence): [`EVENT_LIMIT`] is its limit.
    #[serde(default)]
    pub quotes: bool,
}

/// For the reference: what belongs to reasons that stand in no other table of the program.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reasons {
    pub names: Vec<String>,
    /// A NodeCondition; `(Event)`, or `(Unknown)` for any condition with that status.
    pub condition: String,
    #[serde(default)]
    pub severity: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    message: Vec<Entry>,
    #[serde(default)]
    reasons: Vec<Reasons>,
    /// What else a program has in the same file: what its reasons mean.
    #[serde(default, rename = "reason")]
    _reason: IgnoredAny,
}

/// All messages of a program.
#[derive(Debug, Default)]
pub struct Catalogue {
    entries: BTreeMap<String, Entry>,
    reasons: Vec<Reasons>,
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
                Ok(file) => {
                    file.message.into_iter().for_each(|entry| catalogue.add(entry));
                    catalogue.reasons.extend(file.reasons);
                }
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

    /// What belongs to reasons that stand in no other table of the program.
    pub fn reasons(&self) -> impl Iterator<Item = &Reasons> {
        self.reasons.iter()
    }

    /// What is listed of the reason `name`.
    #[must_use]
    pub fn reason(&self, name: &str) -> Option<&Reasons> {
        self.reasons.iter().find(|reasons| reasons.names.iter().any(|listed| listed == name))
    }

    /// Listed reasons that no message has.
    pub(crate) fn reasons_without_message(&self) -> impl Iterator<Item = &str> {
        let has_message = |name: &&String| self.entries.values().any(|entry| entry.reason() == **name);
        self.reasons
            .iter()
            .flat_map(|reasons| &reasons.names)
            .filter(move |name| !has_message(name))
            .map(String::as_str)
    }

    /// The message of `key` with its arguments: one line of at most [`Entry::limit`] bytes.
    ///
    /// # Panics
    /// In debug builds, if there is no such message or if its arguments are others than these: a bug that tests find.
    #[must_use]
    pub fn compose(&self, key: &str, args: MessageArgs<'_>) -> String {
        Template::compose(self.entries.get(key).map(Entry::template), key, args)
    }
}

impl Entry {
    /// What its key begins with: a reason or a condition.
    #[must_use]
    pub fn reason(&self) -> &str {
        self.key.split_once('/').map_or(&self.key, |(reason, _)| reason)
    }

    /// What follows in its key; empty if nothing does.
    #[must_use]
    pub fn variant(&self) -> &str {
        self.key.split_once('/').map_or("", |(_, variant)| variant)
    }

    /// The message with the arguments of its example.
    #[must_use]
    pub fn shown(&self) -> String {
        let args: Vec<(&str, &dyn std::fmt::Display)> =
            self.example.iter().map(|(name, argument)| (name.as_str(), argument as &dyn std::fmt::Display)).collect();
        self.template().fill(&args)
    }

    /// What of it a message is made of.
    #[must_use]
    pub fn template(&self) -> Template<'_> {
        let limit = if self.quotes { EVENT_LIMIT } else { LIMIT };
        Template { key: &self.key, text: &self.text, limit }
    }
}
