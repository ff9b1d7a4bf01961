//! Reading several ConfigMaps to the end, whatever is missing or wrong: all of it is reported at once.

use std::collections::{BTreeMap, BTreeSet};

use super::Known;

/// What is missing and what is wrong so far.
#[derive(Debug, Default)]
pub(super) struct Wanting {
    pub(super) needs: BTreeSet<String>,
    pub(super) mistakes: Vec<String>,
}

impl Wanting {
    pub(super) fn find<'a>(&mut self, known: &'a Known, map: &str) -> Option<&'a BTreeMap<String, String>> {
        let found = known.get(map);
        if found.is_none() {
            self.needs.insert(map.to_owned());
        }
        found.and_then(Option::as_ref)
    }

    pub(super) fn mistake(&mut self, text: String) {
        self.mistakes.push(text);
    }

    /// An error only once it is certain that the map is not there.
    pub(super) fn absent(&mut self, known: &Known, map: &str, because: &str) {
        if known.get(map) == Some(&None) {
            self.mistake(format!("{because}, and there is no ConfigMap {map}"));
        }
    }
}
