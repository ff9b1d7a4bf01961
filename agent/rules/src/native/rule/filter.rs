//! `where` and `without`: what a record's fields must be.

use super::super::source::owned;
use crate::{report::Report, rule::FieldFilter};
use nodewell_settings::{Section, StringAt, TableAt, section::strings};

pub(super) fn read(section: Section<'_>, report: &mut Report<'_>) -> FieldFilter {
    let without = section.strings("without", report);
    without.iter().for_each(|field| check_name(*field, report));
    FieldFilter { require: read_where(section, report), without: owned(&without) }
}

fn read_where(section: Section<'_>, report: &mut Report<'_>) -> Vec<(String, Vec<String>)> {
    let Some(TableAt { table, .. }) = section.table("where", report) else { return Vec::new() };
    let mut fields: Vec<_> = table.iter().collect();
    fields.sort_by_key(|(name, _)| name.span().start);
    let mut require = Vec::with_capacity(fields.len());
    for (name, value) in fields {
        let word = StringAt { text: name.get_ref(), at: name.span().start };
        check_name(word, report);
        require.push((word.text.to_owned(), owned(&strings(word.text, value, report))));
    }
    require
}

/// Journal fields and kmsg's `SUBSYSTEM` and `DEVICE` are all of this form; anything else would never match.
pub(super) fn check_name(field: StringAt<'_>, report: &mut Report<'_>) {
    let fine = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    if !field.text.bytes().all(fine) {
        report.error(field.at, format!("a field is upper-case letters, digits and _, not {:?}", field.text));
    }
}
