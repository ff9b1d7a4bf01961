//! Whether a record's fields are what a rule asks for.

use nodewell_model::RecordFields;

use super::Judged;
use crate::rule::{FieldFilter, Rule};

/// How much the record's fields prove.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Known<'a> {
    /// What is not there was not there.
    Everything,
    /// A saved log has only these; the others may have been anything.
    Only(&'a [&'a str]),
}

impl Judged<'_, '_> {
    /// Whether the record's fields satisfy `rule`.
    pub(super) fn admits(&self, rule: &Rule) -> bool {
        let FieldFilter { require, without } = &rule.fields;
        if require.is_empty() && without.is_empty() {
            return true;
        }
        let fields = self.record.fields;
        let agrees = |(name, values): &&(String, Vec<String>)| has_one_of(fields, name, values);
        let asked: Vec<_> = require.iter().filter(|(name, _)| self.is_known(name)).collect();
        // At least one required field has to be known: a filter of which nothing is known is not satisfied.
        let some_known = require.is_empty() || !asked.is_empty();
        some_known && asked.iter().all(agrees) && without.iter().all(|name| fields.field(name).is_none())
    }

    fn is_known(&self, name: &str) -> bool {
        match self.known {
            Known::Everything => true,
            Known::Only(names) => names.contains(&name),
        }
    }
}

fn has_one_of(fields: &dyn RecordFields, name: &str, values: &[String]) -> bool {
    fields.field(name).is_some_and(|value| values.iter().any(|wanted| wanted.as_bytes() == &*value))
}
