//! Reads keys of one TOML file and collects every error with its line.

use std::{
    ops::{Range, RangeInclusive},
    path::Path,
    time::Duration,
};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::Diagnostic;

/// The file, and what was wrong in it so far.
pub(super) struct Report<'a> {
    file: &'a Path,
    text: &'a str,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Report<'a> {
    pub(super) fn new(file: &'a Path, text: &'a str) -> Self {
        Self { file, text, diagnostics: Vec::new() }
    }

    pub(super) fn error(&mut self, at: &Range<usize>, message: impl Into<String>) {
        let before = self.text.get(..at.start.min(self.text.len())).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        self.diagnostics.push(Diagnostic::at(self.file, line, message));
    }

    pub(super) fn finish(self) -> Vec<Diagnostic> {
        self.diagnostics
    }
}

/// A table with the keys that it takes.
#[derive(Clone, Copy)]
pub(super) struct Section<'a> {
    name: &'a str,
    table: &'a DeTable<'a>,
}

impl<'a> Section<'a> {
    /// Keys that it does not take are errors, each with those that it does.
    pub(super) fn new(name: &'a str, table: &'a DeTable<'a>, keys: &[&str], report: &mut Report<'_>) -> Self {
        for key in table.keys().filter(|key| !keys.contains(&key.get_ref().as_ref())) {
            let message = format!("{name} has no key {:?}; it takes {}", key.get_ref().as_ref(), keys.join(", "));
            report.error(&key.span(), message);
        }
        Self { name, table }
    }

    fn value(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.get(key)
    }

    pub(super) fn span(&self, key: &str) -> Range<usize> {
        self.value(key).map_or(0..0, Spanned::span)
    }

    fn wrong(&self, key: &str, wanted: &str, report: &mut Report<'_>) {
        report.error(&self.span(key), format!("{key} of {} takes {wanted}", self.name));
    }

    pub(super) fn table(&self, key: &str, report: &mut Report<'_>) -> Option<&'a DeTable<'a>> {
        let table = self.value(key)?.get_ref().as_table();
        if table.is_none() {
            self.wrong(key, "a table", report);
        }
        table
    }

    pub(super) fn boolean(&self, key: &str, report: &mut Report<'_>) -> Option<bool> {
        let value = self.value(key)?.get_ref().as_bool();
        if value.is_none() {
            self.wrong(key, "true or false", report);
        }
        value
    }

    pub(super) fn string(&self, key: &str, report: &mut Report<'_>) -> Option<String> {
        let value = self.value(key)?.get_ref().as_str().filter(|text| !text.trim().is_empty());
        if value.is_none() {
            self.wrong(key, "text in quotes", report);
        }
        value.map(str::to_owned)
    }

    pub(super) fn strings(&self, key: &str, report: &mut Report<'_>) -> Option<Vec<String>> {
        let items = self.value(key)?.get_ref().as_array();
        let texts =
            items.and_then(|items| items.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect());
        if texts.is_none() {
            self.wrong(key, "a list of texts in quotes", report);
        }
        texts
    }

    pub(super) fn count(&self, key: &str, range: RangeInclusive<usize>, report: &mut Report<'_>) -> Option<usize> {
        let value = self.value(key)?.get_ref().as_integer();
        let number = value.and_then(|value| usize::from_str_radix(value.as_str(), value.radix()).ok());
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            self.wrong(key, &format!("a whole number from {} to {}", range.start(), range.end()), report);
        }
        number
    }

    pub(super) fn duration(&self, key: &str, report: &mut Report<'_>) -> Option<Duration> {
        let value = self.string(key, report)?;
        let duration = duration(&value);
        if duration.is_none() {
            self.wrong(key, "a duration such as \"15s\" or \"2m\"", report);
        }
        duration
    }
}

/// A whole number and its unit: ms, s, m or h.
fn duration(text: &str) -> Option<Duration> {
    let split = text.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, unit) = (text[..split].parse::<u64>().ok()?, &text[split..]);
    let millis = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    number.checked_mul(millis).map(Duration::from_millis)
}
