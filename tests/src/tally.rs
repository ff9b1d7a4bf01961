//! How often each of many numbered lines was seen: what is missing, and what was counted twice.

use std::{collections::BTreeMap, fmt::Write as _};

use nodewell_model::view::EventView;

/// Enough to see what a failure is about.
const SHOWN: usize = 10;

/// Lines by their number; a line's subject is `n` and its number.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Tally(BTreeMap<usize, u64>);

impl Tally {
    /// Counts the events of numbered lines.
    ///
    /// # Panics
    /// If an event is about something else.
    #[must_use]
    pub fn of(events: &[EventView]) -> Self {
        let mut tally = Self::default();
        for event in events {
            let subject = event.subject.as_deref().unwrap_or_default();
            let number = subject.strip_prefix('n').and_then(|number| number.parse().ok());
            let number = number.unwrap_or_else(|| panic!("{subject:?} is no numbered line"));
            *tally.0.entry(number).or_default() += event.count;
        }
        tally
    }

    #[must_use]
    pub fn has(&self, number: usize) -> bool {
        self.0.contains_key(&number)
    }

    /// How many different ones were seen.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those of `numbers` that were not seen.
    #[must_use]
    pub fn missing(&self, numbers: impl IntoIterator<Item = usize>) -> Vec<usize> {
        numbers.into_iter().filter(|number| !self.has(*number)).collect()
    }

    /// Nothing was counted twice.
    ///
    /// # Panics
    /// If something was.
    #[track_caller]
    pub fn assert_none_doubled(&self) {
        let doubled: Vec<_> = self.0.iter().filter(|(_, count)| **count != 1).take(SHOWN).collect();
        assert!(doubled.is_empty(), "not counted once (number, count): {doubled:?}");
    }

    /// Each of `numbers` was seen once, and nothing else.
    ///
    /// # Panics
    /// With what is wrong.
    #[track_caller]
    pub fn assert_once_each(&self, numbers: impl Iterator<Item = usize> + Clone) {
        self.assert_none_doubled();
        let missing = self.missing(numbers.clone());
        let wanted: std::collections::BTreeSet<usize> = numbers.collect();
        let others: Vec<_> = self.0.keys().filter(|number| !wanted.contains(number)).take(SHOWN).collect();
        let mut wrong = String::new();
        if !missing.is_empty() {
            let _ = write!(wrong, "{} missing, such as {:?}; ", missing.len(), &missing[..missing.len().min(SHOWN)]);
        }
        if !others.is_empty() {
            let _ = write!(wrong, "no writer wrote {others:?}");
        }
        assert!(wrong.is_empty(), "{wrong}");
    }
}
