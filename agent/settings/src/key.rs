//! One key of a table.

use crate::{Kind, Report, Schema, Section};

/// A key of a table whose values are fields of `S`.
pub struct Key<S> {
    pub name: &'static str,
    pub help: &'static str,
    /// What a file may have for it, where nothing is usual.
    pub example: &'static str,
    access: Box<dyn Access<S>>,
}

impl<S: 'static> Key<S> {
    /// The key `name`, which sets `field` to what `kind` takes.
    pub fn new<K: Kind>(name: &'static str, field: fn(&mut S) -> &mut K::Of, kind: K) -> Self {
        Self { name, help: "", example: "", access: Box::new(Field { field, kind }) }
    }

    /// What it is for, in a sentence or two.
    #[must_use]
    pub fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    /// What a file may have for it, as TOML: for keys of which nothing is usual.
    #[must_use]
    pub fn example(self, example: &'static str) -> Self {
        Self { example, ..self }
    }

    /// Sets its field to what `section` has for it; whether that could be read.
    pub fn read(&self, settings: &mut S, section: Section<'_>, report: &mut Report<'_>) -> bool {
        self.access.read(settings, section, self.name, report)
    }

    /// Its value as a file would have it; `None` where nothing is set and nothing is usual.
    pub fn shown(&self, settings: &mut S) -> Option<String> {
        self.access.shown(settings)
    }

    /// What it takes, for people: `a duration from 5s to 7d`.
    pub fn takes(&self) -> String {
        self.access.takes()
    }

    /// The same, for programs.
    pub fn schema(&self) -> Schema {
        self.access.schema()
    }
}

/// A field and its kind, whatever their types.
trait Access<S> {
    fn read(&self, settings: &mut S, section: Section<'_>, key: &'static str, report: &mut Report<'_>) -> bool;
    fn shown(&self, settings: &mut S) -> Option<String>;
    fn takes(&self) -> String;
    fn schema(&self) -> Schema;
}

struct Field<S, K: Kind> {
    field: fn(&mut S) -> &mut K::Of,
    kind: K,
}

impl<S, K: Kind> Access<S> for Field<S, K> {
    fn read(&self, settings: &mut S, section: Section<'_>, key: &'static str, report: &mut Report<'_>) -> bool {
        let Some(value) = self.kind.read(section, key, report) else { return false };
        *(self.field)(settings) = value;
        true
    }

    fn shown(&self, settings: &mut S) -> Option<String> {
        self.kind.shown((self.field)(settings))
    }

    fn takes(&self) -> String {
        self.kind.takes()
    }

    fn schema(&self) -> Schema {
        self.kind.schema()
    }
}
