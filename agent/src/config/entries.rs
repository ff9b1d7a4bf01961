//! The config as it stands: each key with its value, and which file set it.

use nodewell_settings::{Location, Set, Shown, Table, shown};

use super::Config;

/// A key as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its table's name; none where it stands in no table.
    pub table: Option<&'static str>,
    pub shown: Shown,
    /// The line that sets it; without one it has its usual value.
    pub at: Option<Location>,
}

impl Config {
    /// Every key, table by table; of `set`, which is what its files set, the last one of a key holds.
    #[must_use]
    pub fn entries(&self, set: &[Set]) -> Vec<Entry> {
        let mut config = self.clone();
        let mut all = shown(&mut config);
        all.extend(Self::parts().into_iter().flat_map(|part| part.shown(&mut config)));
        all.into_iter().map(|shown| entry(shown, set)).collect()
    }
}

fn entry(shown: Shown, set: &[Set]) -> Entry {
    let last = set.iter().rev().find(|set| (set.table, set.key) == (shown.table, shown.key));
    let table = (shown.table != Config::NAME).then(|| shown.table.trim_matches(['[', ']']));
    Entry { table, at: last.map(|set| set.at.clone()), shown }
}
