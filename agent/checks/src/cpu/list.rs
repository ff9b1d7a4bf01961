//! Sets of CPUs as the kernel writes them: `0-3,8,10-11` (Documentation/admin-guide/cputopology.rst).

use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};

/// More than any kernel is built for (NR_CPUS is 8192 at most): a range that is wider is garbage.
const LIMIT: u32 = 65_536;

/// A set of CPUs; in JSON as the kernel writes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CpuSet(pub BTreeSet<u32>);

/// The text is no list of CPUs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no list of CPUs")]
pub struct NotACpuSet {
    text: String,
}

impl CpuSet {
    /// Reads a list; an empty one is the empty set.
    pub fn parse(text: &str) -> Result<Self, NotACpuSet> {
        let parts = text.trim().split(',').filter(|part| !part.is_empty());
        let sets: Option<Vec<_>> = parts.map(range).collect();
        let set = sets.map(|sets| Self(sets.into_iter().flatten().collect()));
        set.ok_or_else(|| NotACpuSet { text: text.chars().take(64).collect() })
    }
}

/// `3` or `0-3`
fn range(part: &str) -> Option<std::ops::RangeInclusive<u32>> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (first <= last && last < LIMIT).then_some(first..=last)
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.0.iter().copied().peekable();
        let mut comma = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if_eq(&(last + 1)) {
                last = next;
            }
            match first == last {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first}-{last}")?,
            }
            comma = ",";
        }
        Ok(())
    }
}

impl TryFrom<String> for CpuSet {
    type Error = NotACpuSet;

    fn try_from(text: String) -> Result<Self, NotACpuSet> {
        Self::parse(&text)
    }
}

impl From<CpuSet> for String {
    fn from(set: CpuSet) -> Self {
        set.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists_are_read() {
        for (text, expected) in
            [("", vec![]), ("0\n", vec![0]), ("0-2,5,7-8", vec![0, 1, 2, 5, 7, 8]), ("3,3", vec![3])]
        {
            assert_eq!(CpuSet::parse(text).unwrap().0.into_iter().collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn garbage_is_refused() {
        for text in ["a", "3-1", "0-99999999", "1-2-3", "-1", "\0"] {
            assert!(CpuSet::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(cpus in prop::collection::btree_set(0u32..300, 0..40)) {
            let set = CpuSet(cpus);
            prop_assert_eq!(CpuSet::parse(&set.to_string()).unwrap(), set);
        }

        #[test]
        fn no_text_makes_it_panic(text in "[0-9,\\- ]{0,30}") {
            let _ = CpuSet::parse(&text);
        }
    }
}
