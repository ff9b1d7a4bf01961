//! A table: its keys, and what of several of them has to fit together.

use std::path::Path;

use toml::de::DeTable;

use crate::{Diagnostic, Key, Kind, Report, Section, TableAt, report::Set};

/// What a table of a file sets. Its default is what holds where no file says anything.
pub trait Table: Default + 'static {
    /// In messages: `[clock]`.
    const NAME: &'static str;

    fn keys() -> Vec<Key<Self>>;

    /// One of them, which sets `field` to what `kind` takes.
    fn key<K: Kind>(name: &'static str, field: fn(&mut Self) -> &mut K::Of, kind: K) -> Key<Self> {
        Key::new(name, field, kind)
    }

    /// Names of what else it takes: tables in it.
    fn others() -> Vec<&'static str> {
        Vec::new()
    }

    /// Reads them.
    fn read_others(&mut self, section: Section<'_>, report: &mut Report<'_>) {
        let _ = (section, report);
    }

    /// Reports what in `section` does not fit together; all of its keys are set by now.
    fn check(&self, section: Section<'_>, report: &mut Report<'_>) {
        let _ = (section, report);
    }
}

/// Reads `table` over `settings`: its keys win over what is set.
fn read<T: Table>(settings: &mut T, table: TableAt<'_>, report: &mut Report<'_>) {
    let (keys, others) = (T::keys(), T::others());
    let names: Vec<&'static str> = keys.iter().map(|key| key.name).chain(others).collect();
    let section = Section::new(T::NAME, table, &names, report);
    for key in &keys {
        if key.read(settings, section, report) {
            report.was_set(T::NAME, key.name, section.position(key.name));
        }
    }
    settings.read_others(section, report);
    settings.check(section, report);
}

/// Reads the text of `file` over `settings`: which keys it sets and where, or all that is wrong with it.
///
/// # Errors
/// Everything that is wrong, in the order of the lines.
pub fn read_text<T: Table>(settings: &mut T, file: &Path, text: &str) -> Result<Vec<Set>, Vec<Diagnostic>> {
    let mut report = Report::new(file, text);
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let message = error.message().lines().next().unwrap_or_default();
        report.error(error.span().map_or(0, |span| span.start), format!("not TOML: {message}"));
    }
    read(settings, TableAt { table: document.get_ref(), at: 0 }, &mut report);
    let set = std::mem::take(&mut report.set);
    let (diagnostics, _) = report.finish();
    if diagnostics.is_empty() { Ok(set) } else { Err(diagnostics) }
}

/// One key, as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub table: &'static str,
    pub key: &'static str,
    /// As a file would have it; `None` where nothing is set and nothing is usual.
    pub value: Option<String>,
    /// The same where no file says anything.
    pub usual: Option<String>,
    pub takes: String,
    pub help: &'static str,
}

/// A table of a whole configuration `C`, whatever its type.
pub struct Part<C> {
    /// Its key in the file.
    pub key: &'static str,
    read: Box<dyn Fn(&mut C, TableAt<'_>, &mut Report<'_>)>,
    shown: Box<dyn Fn(&mut C) -> Vec<Shown>>,
}

impl<C: 'static> Part<C> {
    /// The table that sets `field`.
    #[must_use]
    pub fn of<T: Table>(field: fn(&mut C) -> &mut T) -> Self {
        Self {
            key: T::NAME.trim_matches(['[', ']']),
            read: Box::new(move |config, table, report| read(field(config), table, report)),
            shown: Box::new(move |config| shown(field(config))),
        }
    }

    /// Reads the table, if `file` has it.
    pub fn read(&self, config: &mut C, file: Section<'_>, report: &mut Report<'_>) {
        if let Some(table) = file.table(self.key, report) {
            (self.read)(config, table, report);
        }
    }

    /// All its keys, as they stand.
    pub fn shown(&self, config: &mut C) -> Vec<Shown> {
        (self.shown)(config)
    }
}

/// All keys of a table, as they stand.
pub fn shown<T: Table>(settings: &mut T) -> Vec<Shown> {
    let mut usual = T::default();
    let key = |key: Key<T>| Shown {
        table: T::NAME,
        key: key.name,
        value: key.shown(settings),
        usual: key.shown(&mut usual),
        takes: key.takes(),
        help: key.help,
    };
    T::keys().into_iter().map(key).collect()
}
