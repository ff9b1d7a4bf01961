//! What was exercised: how often each kind of act, answer, fault and edge was, so that what never happens is noticed.

use std::{collections::BTreeMap, fmt};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<String, u64>);

impl Tally {
    pub fn count(&mut self, what: &str) {
        if let Some(count) = self.0.get_mut(what) {
            *count += 1;
        } else {
            self.0.insert(what.to_owned(), 1);
        }
    }

    pub fn add(&mut self, other: &Self) {
        for (what, count) in &other.0 {
            *self.0.entry(what.clone()).or_default() += count;
        }
    }

    #[must_use]
    pub fn of(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or_default()
    }
}

/// A line for each kind: `fault`, `act`, `answer`, … with its counts.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut kind = "";
        for (what, count) in &self.0 {
            let (of, name) = what.split_once(' ').unwrap_or(("", what));
            let separator = if of == kind { "," } else { "" };
            if of != kind {
                write!(f, "{}{of}:", if kind.is_empty() { "" } else { "\n" })?;
                kind = of;
            }
            write!(f, "{separator} {name} {count}")?;
        }
        Ok(())
    }
}
