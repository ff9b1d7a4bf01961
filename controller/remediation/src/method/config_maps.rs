//! Reading several ConfigMaps to the end, whatever is missing or wrong: all of it is reported at once.

use std::collections::{BTreeMap, BTreeSet};

use super::KnownConfigMaps;

/// What is missing and what is wrong so far.
#[derive(Debug, Default)]
pub(super) struct ConfigMapReader {
    pub(super) needs: BTreeSet<String>,
    pub(super) diagnostics: Vec<String>,
}

impl ConfigMapReader {
    pub(super) fn find<'a>(&mut self, known: &'a KnownConfigMaps, map: &str) -> Option<&'a BTreeMap<String, String>> {
        let found = known.get(map);
        if found.is_none() {
            self.needs.insert(map.to_owned());
        }
        found.and_then(Option::as_ref)
    }

    pub(super) fn report(&mut self, text: String) {
        self.diagnostics.push(text);
    }

    /// Reports that `map` is not there, once that is certain.
    pub(super) fn absent(&mut self, known: &KnownConfigMaps, map: &str, because: &str) {
        if known.get(map) == Some(&None) {
            self.report(format!("{because}, and there is no ConfigMap {map}"));
        }
    }
}
