//! One TOML table while it is read: typed access to its keys, every error reported with its line.

use nodewell_model::Name;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{nearest::did_you_mean, places::Places, report::Report};

/// A string and its position in the file.
#[derive(Debug, Clone, Copy)]
pub struct StringAt<'a> {
    pub text: &'a str,
    pub at: usize,
}

/// A table and its position in the file.
#[derive(Debug, Clone, Copy)]
pub struct TableAt<'a> {
    pub table: &'a DeTable<'a>,
    pub at: usize,
}

/// A table, its position, and what it is called in messages.
#[derive(Clone, Copy)]
pub struct Section<'a> {
    pub name: &'static str,
    pub at: usize,
    table: &'a DeTable<'a>,
}

impl<'a> Section<'a> {
    /// Takes `table` and reports every key that is not in `keys`.
    pub fn new(
        name: &'static str,
        TableAt { table, at }: TableAt<'a>,
        keys: &[&'static str],
        report: &mut Report<'_>,
    ) -> Self {
        for (key, value) in table.iter().filter(|(key, _)| !keys.contains(&key.get_ref().as_ref())) {
            let word = key.get_ref();
            // A table of that name is no key of another place.
            let is_value =
                !value.get_ref().is_table() && value.get_ref().as_array().is_none_or(|list| !of_tables(list));
            let hint = hint(word, keys, &if is_value { (report.places_of)(word) } else { Places::default() });
            report.error(key.span().start, format!("unknown key {word:?} in {name}{hint}"));
        }
        Self { name, at, table }
    }

    pub fn has(&self, key: &str) -> bool {
        self.value(key).is_some()
    }

    pub fn value(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.iter().find(|(known, _)| known.get_ref() == key).map(|(_, value)| value)
    }

    /// The position of `key`'s value, or the table's if it is not there.
    pub fn position(&self, key: &str) -> usize {
        self.value(key).map_or(self.at, |value| value.span().start)
    }

    pub fn string(&self, key: &str, report: &mut Report<'_>) -> Option<StringAt<'a>> {
        self.typed(key, "a string", report, DeValue::as_str).map(|(text, at)| StringAt { text, at })
    }

    pub fn boolean(&self, key: &str, report: &mut Report<'_>) -> Option<bool> {
        self.typed(key, "true or false", report, DeValue::as_bool).map(|(value, _)| value)
    }

    pub fn array(&self, key: &str, report: &mut Report<'_>) -> &'a [Spanned<DeValue<'a>>] {
        self.typed(key, "an array", report, DeValue::as_array).map_or(&[], |(array, _)| array)
    }

    pub fn table(&self, key: &str, report: &mut Report<'_>) -> Option<TableAt<'a>> {
        self.typed(key, "a table such as { … }", report, DeValue::as_table).map(|(table, at)| TableAt { table, at })
    }

    /// A string that must be there and must not be empty.
    pub fn required(&self, key: &str, report: &mut Report<'_>) -> Option<StringAt<'a>> {
        if !self.has(key) {
            report.error(self.at, format!("{} lacks {key:?}", self.name));
        }
        let word = self.string(key, report)?;
        if word.text.is_empty() {
            report.error(word.at, format!("{key:?} must not be empty"));
            return None;
        }
        Some(word)
    }

    /// A string that may be missing and must not be blank.
    pub fn written(&self, key: &str, report: &mut Report<'_>) -> Option<StringAt<'a>> {
        let word = self.string(key, report)?;
        if word.text.trim().is_empty() {
            report.error(word.at, format!("{key:?} must not be empty"));
            return None;
        }
        Some(word)
    }

    /// A CamelCase name that must be there.
    pub fn required_name(&self, key: &str, report: &mut Report<'_>) -> Option<Name> {
        let word = self.required(key, report)?;
        checked(word, key, Name::new(word.text), report)
    }

    /// A whole number within `range`.
    pub fn number(&self, key: &str, range: std::ops::RangeInclusive<u32>, report: &mut Report<'_>) -> Option<u32> {
        whole_number(key, self.value(key)?, range, report)
    }

    /// An array of whole numbers within `range`.
    pub fn numbers(&self, key: &str, range: std::ops::RangeInclusive<u32>, report: &mut Report<'_>) -> Vec<u32> {
        let items = self.array(key, report).iter();
        items.filter_map(|item| whole_number(key, item, range.clone(), report)).collect()
    }

    pub fn duration(&self, key: &str, report: &mut Report<'_>) -> Option<std::time::Duration> {
        let word = self.string(key, report)?;
        checked(word, key, crate::duration::parse(word.text), report)
    }

    /// The same, or none at all.
    pub fn duration_or_none(&self, key: &str, report: &mut Report<'_>) -> Option<std::time::Duration> {
        let word = self.string(key, report)?;
        checked(word, key, crate::duration::parse_or_none(word.text), report)
    }

    /// A word of a fixed list.
    pub fn choice<T: Copy>(&self, key: &str, choices: &[(&'static str, T)], report: &mut Report<'_>) -> Option<T> {
        let word = self.string(key, report)?;
        if let Some((_, value)) = choices.iter().find(|(known, _)| *known == word.text) {
            return Some(*value);
        }
        let known: Vec<&str> = choices.iter().map(|(known, _)| *known).collect();
        let hint = did_you_mean(word.text, known.iter().copied());
        report.error(word.at, format!("{key:?} takes {}, not {:?}{hint}", listed(&known), word.text));
        None
    }

    /// An array of strings. A string in its place is an error: whether one name or the one text of several is meant
    /// cannot be seen.
    pub fn list(&self, key: &str, report: &mut Report<'_>) -> Vec<StringAt<'a>> {
        match self.value(key) {
            Some(value) if !value.get_ref().is_array() => {
                no_list(key, value, report);
                Vec::new()
            }
            _ => self.strings(key, report),
        }
    }

    /// A string or an array of strings, as rule files have them.
    pub fn strings(&self, key: &str, report: &mut Report<'_>) -> Vec<StringAt<'a>> {
        self.value(key).map(|value| strings(key, value, report)).unwrap_or_default()
    }

    fn typed<T>(
        &self,
        key: &str,
        takes: &str,
        report: &mut Report<'_>,
        get: impl FnOnce(&'a DeValue<'a>) -> Option<T>,
    ) -> Option<(T, usize)> {
        let value = self.value(key)?;
        let found = get(value.get_ref());
        if found.is_none() {
            wrong_type(key, takes, value, report);
        }
        found.map(|found| (found, value.span().start))
    }
}

/// The strings of a value that is a string or an array of them; an empty string or array is an error.
pub fn strings<'a>(key: &str, value: &'a Spanned<DeValue<'a>>, report: &mut Report<'_>) -> Vec<StringAt<'a>> {
    let items = match value.get_ref() {
        DeValue::String(_) => std::slice::from_ref(value),
        DeValue::Array(items) if items.is_empty() => {
            report.error(value.span().start, format!("{key:?} must not be empty"));
            &[]
        }
        DeValue::Array(items) => &**items,
        _ => {
            wrong_type(key, "a string or an array of strings", value, report);
            &[]
        }
    };
    items.iter().filter_map(|item| filled(key, item, report)).collect()
}

fn filled<'a>(key: &str, item: &'a Spanned<DeValue<'a>>, report: &mut Report<'_>) -> Option<StringAt<'a>> {
    match item.get_ref().as_str() {
        Some("") => report.error(item.span().start, format!("{key:?} must not hold an empty string")),
        Some(text) => return Some(StringAt { text, at: item.span().start }),
        None => wrong_type(key, "strings", item, report),
    }
    None
}

fn whole_number(
    key: &str,
    value: &Spanned<DeValue<'_>>,
    range: std::ops::RangeInclusive<u32>,
    report: &mut Report<'_>,
) -> Option<u32> {
    let Some(number) = value.get_ref().as_integer() else {
        wrong_type(key, "a whole number", value, report);
        return None;
    };
    let fit = u32::from_str_radix(number.as_str(), number.radix()).ok().filter(|number| range.contains(number));
    if fit.is_none() {
        let (least, most) = range.into_inner();
        report.error(value.span().start, format!("{key:?} takes a number from {least} to {most}, not {number}"));
    }
    fit
}

/// Reports a value of the wrong type.
pub fn wrong_type(key: &str, takes: &str, value: &Spanned<DeValue<'_>>, report: &mut Report<'_>) {
    let article = if value.get_ref().type_str().starts_with(['a', 'i']) { "an" } else { "a" };
    let found = value.get_ref().type_str();
    report.error(value.span().start, format!("{key:?} takes {takes}, not {article} {found}"));
}

fn no_list(key: &str, value: &Spanned<DeValue<'_>>, report: &mut Report<'_>) {
    match value.get_ref().as_str() {
        Some(text) => {
            let error = format!("{key:?} takes a list of strings; write {key} = [{text:?}]");
            report.error(value.span().start, error);
        }
        None => wrong_type(key, "a list of strings", value, report),
    }
}

fn checked<T, E: std::fmt::Display>(
    word: StringAt<'_>,
    key: &str,
    outcome: Result<T, E>,
    report: &mut Report<'_>,
) -> Option<T> {
    outcome.inspect_err(|error| report.error(word.at, format!("{key:?}: {error}"))).ok()
}

/// What may have been meant by an unknown key: a slip of the fingers, or one of another place, whose table's line is
/// missing or still a comment.
fn hint(word: &str, keys: &[&'static str], places: &Places) -> String {
    let slip = did_you_mean(word, keys.iter().copied());
    match (places.shown(), slip.is_empty()) {
        (None, true) => format!("; it takes {}", keys.join(", ")),
        (None, false) => slip,
        (Some(places), true) => format!("; {places}"),
        (Some(places), false) => format!("{slip} Or else {places}"),
    }
}

/// `a, b or c`.
pub fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}

fn of_tables(list: &[Spanned<DeValue<'_>>]) -> bool {
    list.iter().any(|item| item.get_ref().is_table())
}

/// The tables of `[[key]]`, each with its position.
pub fn tables<'a>(file: Section<'a>, key: &str, report: &mut Report<'_>) -> Vec<TableAt<'a>> {
    let takes = format!("tables; write [[{key}]]");
    let items = match file.value(key) {
        Some(value) if !value.get_ref().is_array() => {
            wrong_type(key, &takes, value, report);
            &[]
        }
        _ => file.array(key, report),
    };
    items.iter().filter_map(|item| table(item, key, &takes, report)).collect()
}

fn table<'a>(item: &'a Spanned<DeValue<'a>>, key: &str, takes: &str, report: &mut Report<'_>) -> Option<TableAt<'a>> {
    let table = item.get_ref().as_table();
    if table.is_none() {
        wrong_type(key, takes, item, report);
    }
    table.map(|table| TableAt { table, at: item.span().start })
}
