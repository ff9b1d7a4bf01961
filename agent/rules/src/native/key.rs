//! What is declared of the keys of rule files: a constant for each table, by which files are read and which
//! docs/reference/rules.md shows. Reading builds nothing of it, because a start reads hundreds of rules.

use nodewell_settings::kind::words;

/// A table of rule files.
#[derive(Debug, Clone, Copy)]
pub struct RuleTable {
    /// As a file has it: `[[rule]]`.
    pub name: &'static str,
    /// What it is about, in a sentence or two.
    pub about: &'static str,
    pub keys: &'static [RuleKey],
}

/// One of its keys.
#[derive(Debug, Clone, Copy)]
pub struct RuleKey {
    pub name: &'static str,
    /// What it is for.
    pub help: &'static str,
    /// The table is wrong without it.
    pub is_required: bool,
    takes: Takes,
    usual: Option<fn() -> Option<String>>,
}

#[derive(Debug, Clone, Copy)]
enum Takes {
    Written(&'static str),
    Made(fn() -> String),
}

impl RuleKey {
    pub(super) const fn new(name: &'static str, takes: &'static str, help: &'static str) -> Self {
        Self { name, help, is_required: false, takes: Takes::Written(takes), usual: None }
    }

    /// One whose limits or words are those that reading goes by.
    pub(super) const fn of(name: &'static str, takes: fn() -> String, help: &'static str) -> Self {
        Self { name, help, is_required: false, takes: Takes::Made(takes), usual: None }
    }

    /// What holds without it, as a file would have it.
    pub(super) const fn without(self, usual: fn() -> Option<String>) -> Self {
        Self { usual: Some(usual), ..self }
    }

    pub(super) const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    /// What it takes, for people: `a number from 1 to 64`.
    #[must_use]
    pub fn takes(&self) -> String {
        match self.takes {
            Takes::Written(takes) => takes.to_owned(),
            Takes::Made(takes) => takes(),
        }
    }

    /// What holds without it, as a file would have it; `None` where that is no value.
    #[must_use]
    pub fn usual(&self) -> Option<String> {
        self.usual.and_then(|usual| usual())
    }
}

/// The names of all `keys`: `N` is how many there are.
pub(super) const fn names<const N: usize>(keys: &[RuleKey]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut at = 0;
    while at < N {
        names[at] = keys[at].name;
        at += 1;
    }
    names
}

/// The words that a key takes.
pub(super) fn choices<T>(known: &[(&str, T)]) -> String {
    words(&known.iter().map(|(word, _)| *word).collect::<Vec<_>>())
}
