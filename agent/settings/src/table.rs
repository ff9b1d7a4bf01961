//! A table: its keys, and what of several of them has to fit together.

use std::path::Path;

use toml::de::DeTable;

use crate::{Diagnostic, Key, Kind, Places, Report, Schema, Section, TableAt, report::Set};

/// What a table of a file sets. Its default is what holds where no file says anything.
pub trait Table: Default + 'static {
    /// In messages: `[clock]`.
    const NAME: &'static str;
    /// What it is about, in a sentence.
    const ABOUT: &'static str;

    fn keys() -> Vec<Key<Self>>;

    /// One of them, which sets `field` to what `kind` takes.
    fn key<K: Kind>(name: &'static str, field: fn(&mut Self) -> &mut K::Of, kind: K) -> Key<Self> {
        Key::new(name, field, kind)
    }

    /// Names of what else it takes: tables in it.
    fn others() -> Vec<&'static str> {
        Vec::new()
    }

    /// Where in the file this key may stand: for one that was found elsewhere.
    fn places_of(key: &str) -> Places {
        Places { top: Self::keys().iter().any(|known| known.name == key), tables: Vec::new() }
    }

    /// Reads them.
    fn read_others(&mut self, section: Section<'_>, report: &mut Report<'_>) {
        let _ = (section, report);
    }

    /// Reports what in a table does not fit together.
    fn check(&self, read: &ReadKeys<'_>, report: &mut Report<'_>) {
        let _ = (read, report);
    }

    /// Makes what several files set fit together: each may be right, and not beside the other.
    fn resolve(&mut self) {}
}

/// Reads `table` over `settings`: its keys win over what is set.
fn read<T: Table>(settings: &mut T, table: TableAt<'_>, report: &mut Report<'_>) {
    let (keys, others) = (T::keys(), T::others());
    let names: Vec<&'static str> = keys.iter().map(|key| key.name).chain(others).collect();
    let section = Section::new(T::NAME, table, &names, report);
    let mut read = ReadKeys { section, keys: Vec::new() };
    for key in keys.iter().filter(|key| section.has(key.name)) {
        report.was_set(T::NAME, key.name, section.position(key.name));
        if key.read(settings, section, report) {
            read.keys.push(key.name);
        }
    }
    settings.read_others(section, report);
    settings.check(&read, report);
}

/// Reads the text of `file` over `settings`: which keys it sets and where, or all that is wrong with it.
///
/// # Errors
/// Everything that is wrong, in the order of the lines.
pub fn read_text<T: Table>(settings: &mut T, file: &Path, text: &str) -> Result<Vec<Set>, Vec<Diagnostic>> {
    let mut report = Report::new(file, text);
    report.places_of = T::places_of;
    let (document, errors) = DeTable::parse_recoverable(text);
    read(settings, TableAt { table: document.get_ref(), at: 0 }, &mut report);
    // After a slip the parser guesses what was meant: what it guessed is not judged, or one would be reported as many.
    // So are tables that it stands in.
    if let Some(slip) = errors.iter().filter_map(|error| error.span()).map(|span| span.start).min() {
        let before = text.get(..slip).unwrap_or(text);
        report.keep_before(before.rfind("\n[").map_or(0, |at| at + 1));
    }
    for error in &errors {
        let message = error.message().lines().next().unwrap_or_default();
        report.error(error.span().map_or(0, |span| span.start), format!("not TOML: {message}"));
    }
    let set = std::mem::take(&mut report.set);
    let (diagnostics, _) = report.finish();
    if diagnostics.is_empty() { Ok(set) } else { Err(diagnostics) }
}

/// A table whose keys were read: one that could not be is as good as not there, but for [`Section::has`].
pub struct ReadKeys<'a> {
    pub section: Section<'a>,
    keys: Vec<&'static str>,
}

impl ReadKeys<'_> {
    /// Whether the table sets all of these.
    #[must_use]
    pub fn has_all(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| self.keys.contains(key))
    }

    /// Where the value of `key` stands.
    #[must_use]
    pub fn position(&self, key: &str) -> usize {
        self.section.position(key)
    }
}

/// One key, as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub table: &'static str,
    /// Of the table.
    pub about: &'static str,
    pub key: &'static str,
    /// As a file would have it; `None` where nothing is set and nothing is usual.
    pub value: Option<String>,
    /// The same where no file says anything.
    pub usual: Option<String>,
    /// What a file may have for it, where nothing is usual.
    pub example: &'static str,
    pub takes: String,
    /// The same, for programs.
    pub schema: Schema,
    pub help: &'static str,
}

/// A table of a whole configuration `C`, whatever its type.
pub struct Part<C> {
    /// Its key in the file.
    pub key: &'static str,
    name: &'static str,
    table: Box<dyn AnyTable<C>>,
}

impl<C: 'static> Part<C> {
    /// The table that sets `field`.
    #[must_use]
    pub fn of<T: Table>(field: fn(&mut C) -> &mut T) -> Self {
        Self { key: T::NAME.trim_matches(['[', ']']), name: T::NAME, table: Box::new(Of(field)) }
    }

    /// The same table, of a configuration that has `C` in it.
    #[must_use]
    pub fn within<D: 'static>(self, field: fn(&mut D) -> &mut C) -> Part<D> {
        Part { key: self.key, name: self.name, table: Box::new(Within { field, table: self.table }) }
    }

    /// Its name in messages, if it has this key.
    #[must_use]
    pub fn name_if_it_has(&self, key: &str) -> Option<&'static str> {
        self.table.has(key).then_some(self.name)
    }

    /// Reads the table, if `file` has it.
    pub fn read(&self, config: &mut C, file: Section<'_>, report: &mut Report<'_>) {
        if let Some(table) = file.table(self.key, report) {
            self.table.read(config, table, report);
        }
    }

    /// See [`Table::resolve`].
    pub fn resolve(&self, config: &mut C) {
        self.table.resolve(config);
    }

    /// All its keys, as they stand.
    pub fn shown(&self, config: &mut C) -> Vec<Shown> {
        self.table.shown(config)
    }
}

trait AnyTable<C> {
    fn has(&self, key: &str) -> bool;
    fn read(&self, config: &mut C, table: TableAt<'_>, report: &mut Report<'_>);
    fn resolve(&self, config: &mut C);
    fn shown(&self, config: &mut C) -> Vec<Shown>;
}

struct Of<C, T>(fn(&mut C) -> &mut T);

impl<C, T: Table> AnyTable<C> for Of<C, T> {
    fn has(&self, key: &str) -> bool {
        T::keys().iter().any(|known| known.name == key)
    }

    fn read(&self, config: &mut C, table: TableAt<'_>, report: &mut Report<'_>) {
        read((self.0)(config), table, report);
    }

    fn resolve(&self, config: &mut C) {
        (self.0)(config).resolve();
    }

    fn shown(&self, config: &mut C) -> Vec<Shown> {
        shown((self.0)(config))
    }
}

struct Within<D, C> {
    field: fn(&mut D) -> &mut C,
    table: Box<dyn AnyTable<C>>,
}

impl<D, C> AnyTable<D> for Within<D, C> {
    fn has(&self, key: &str) -> bool {
        self.table.has(key)
    }

    fn read(&self, config: &mut D, table: TableAt<'_>, report: &mut Report<'_>) {
        self.table.read((self.field)(config), table, report);
    }

    fn resolve(&self, config: &mut D) {
        self.table.resolve((self.field)(config));
    }

    fn shown(&self, config: &mut D) -> Vec<Shown> {
        self.table.shown((self.field)(config))
    }
}

/// All keys of a table, as they stand.
pub fn shown<T: Table>(settings: &mut T) -> Vec<Shown> {
    let mut usual = T::default();
    let key = |key: Key<T>| Shown {
        table: T::NAME,
        about: T::ABOUT,
        key: key.name,
        value: key.shown(settings),
        usual: key.shown(&mut usual),
        example: key.example,
        takes: key.takes(),
        schema: key.schema(),
        help: key.help,
    };
    T::keys().into_iter().map(key).collect()
}
