//! JSON as Go reads it into a struct: keys in any case, the last of equal keys counts, null counts as absent. Values
//! have their position in the file.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::{entries::Entries, nearest::did_you_mean, report::Report};

/// One file's text; positions are offsets into it.
#[derive(Clone, Copy)]
pub(super) struct Document<'a> {
    text: &'a str,
}

/// A value and its position.
#[derive(Clone, Copy)]
pub(super) struct Value<'a> {
    document: Document<'a>,
    raw: &'a str,
}

/// An object that is read key by key.
pub(super) struct Object<'a> {
    pub(super) at: usize,
    entries: Vec<(String, Value<'a>)>,
}

/// A string and its position.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) at: usize,
}

impl Text {
    /// An absent one; an error in it is reported at `at`.
    pub(super) fn none(at: usize) -> Self {
        Self { text: String::new(), at }
    }
}

impl<'a> Document<'a> {
    /// The file's value; a syntax error is reported with its line.
    pub(super) fn parse(text: &'a str, report: &mut Report<'_>) -> Option<Value<'a>> {
        match serde_json::from_str::<&RawValue>(text) {
            Ok(raw) => Some(Value { document: Document { text }, raw: raw.get() }),
            Err(error) => {
                let message = error.to_string();
                let words = message.rsplit_once(" at line ").map_or(&*message, |(words, _)| words);
                report.error(offset_of_line(text, error.line()), format!("not JSON: {words}"));
                None
            }
        }
    }
}

fn offset_of_line(text: &str, line: usize) -> usize {
    let starts = std::iter::once(0).chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1));
    starts.take(line.max(1)).last().unwrap_or(0)
}

impl<'a> Value<'a> {
    /// Byte offset in the file. The raw text is a part of the file's, so the addresses give the offset.
    pub(super) fn at(self) -> usize {
        (self.raw.as_ptr() as usize).saturating_sub(self.document.text.as_ptr() as usize)
    }

    /// As it stands in the file.
    pub(super) fn raw(self) -> &'a str {
        self.raw
    }

    pub(super) fn is_null(self) -> bool {
        self.raw == "null"
    }

    /// What is found where something else was asked for, for messages.
    fn shown(self) -> &'a str {
        match self.raw.as_bytes().first() {
            Some(b'"') => "this string",
            Some(b'{') => "this object",
            Some(b'[') => "this array",
            // Numbers and words show themselves; in practice they are short.
            _ => nodewell_model::text::cut(self.raw, 24),
        }
    }

    /// The value as `T`, or an error that states what `key` takes.
    pub(super) fn read<T: DeserializeOwned>(self, key: &str, takes: &str, report: &mut Report<'_>) -> Option<T> {
        let value = serde_json::from_str(self.raw).ok();
        if value.is_none() {
            report.error(self.at(), format!("{key:?} takes {takes}, not {}", self.shown()));
        }
        value
    }

    pub(super) fn object(self, key: &str, report: &mut Report<'_>) -> Option<Object<'a>> {
        let Ok(Entries(entries)) = serde_json::from_str::<Entries<'a>>(self.raw) else {
            report.error(self.at(), format!("{key:?} takes an object, not {}", self.shown()));
            return None;
        };
        let entries = entries.into_iter().map(|(key, raw)| (key, Value { document: self.document, raw: raw.get() }));
        Some(Object { at: self.at(), entries: entries.collect() })
    }

    pub(super) fn array(self, key: &str, report: &mut Report<'_>) -> Vec<Value<'a>> {
        match serde_json::from_str::<Vec<&RawValue>>(self.raw) {
            Ok(items) => items.into_iter().map(|raw| Value { document: self.document, raw: raw.get() }).collect(),
            Err(_) => {
                report.error(self.at(), format!("{key:?} takes an array, not {}", self.shown()));
                Vec::new()
            }
        }
    }

    /// An array of objects.
    pub(super) fn objects(self, key: &str, report: &mut Report<'_>) -> Vec<Object<'a>> {
        self.array(key, report).into_iter().filter_map(|item| item.object(key, report)).collect()
    }
}

impl<'a> Object<'a> {
    /// The value that Go would take for `key`.
    pub(super) fn value(&self, key: &str) -> Option<Value<'a>> {
        let found =
            self.entries.iter().rev().find(|(known, value)| known.eq_ignore_ascii_case(key) && !value.is_null());
        found.map(|(_, value)| *value)
    }

    /// All of them as they are in the file, for maps whose keys are names.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, Value<'a>)> {
        self.entries.iter().map(|(key, value)| (key.as_str(), *value))
    }

    pub(super) fn position(&self, key: &str) -> usize {
        self.value(key).map_or(self.at, Value::at)
    }

    /// A string; absent and null count as empty, as in Go.
    pub(super) fn text(&self, key: &str, report: &mut Report<'_>) -> Text {
        let text = self.value(key).and_then(|value| value.read(key, "a string", report));
        Text { text: text.unwrap_or_default(), at: self.position(key) }
    }

    pub(super) fn objects(&self, key: &str, report: &mut Report<'_>) -> Vec<Object<'a>> {
        self.value(key).map(|value| value.objects(key, report)).unwrap_or_default()
    }

    /// The strings of an array.
    pub(super) fn texts(&self, key: &str, report: &mut Report<'_>) -> Vec<Text> {
        let items = self.value(key).map(|value| value.array(key, report)).unwrap_or_default();
        let text = |item: &Value<'_>, report: &mut Report<'_>| {
            item.read(key, "strings", report).map(|text| Text { text, at: item.at() })
        };
        items.iter().filter_map(|item| text(item, report)).collect()
    }

    /// Go passes over keys it does not know; a slip is worth a note.
    pub(super) fn note_unknown(&self, known: &[&str], report: &mut Report<'_>) {
        for (key, value) in &self.entries {
            if !known.iter().any(|known| known.eq_ignore_ascii_case(key)) {
                let hint = did_you_mean(key, known.iter().copied());
                let shown: String = key.chars().take(64).collect();
                report.note(value.at(), format!("unknown key {shown:?} is passed over{hint}"));
            }
        }
    }
}
