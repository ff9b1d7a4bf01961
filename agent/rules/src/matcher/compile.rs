//! A rule's pattern becomes steps when it is first tried, and a regex when they cannot tell.

use std::sync::{Mutex, OnceLock};

use regex::bytes::{CaptureLocations, Regex};

use super::{
    steps::{GROUPS, Steps},
    tail::Tail,
};
use crate::pattern;

/// A pattern that costs nothing until it is first tried. Its text is the rule's, and is not here a second time. Two
/// threads may try it at once.
pub(super) struct LazyPattern {
    /// What is searched for, where that is not what the rule has.
    translated: Option<Box<str>>,
    /// `None`: a regex has to do it.
    steps: OnceLock<Option<Box<Steps>>>,
    tail: OnceLock<Option<Box<Tail>>>,
    regex: OnceLock<Option<Box<Compiled>>>,
}

/// A regex, and room for what its groups match, so that a match asks for no memory.
pub(super) struct Compiled {
    pub(super) regex: Regex,
    pub(super) places: Mutex<CaptureLocations>,
}

impl LazyPattern {
    /// For `source`, which [`pattern::compiled`] has found good and made of `written`. That is what the functions below
    /// are given, the same each time, and only ask for once.
    pub(super) fn new(source: &str, written: &str) -> Self {
        let translated = (source != written).then(|| source.into());
        Self { translated, steps: OnceLock::new(), tail: OnceLock::new(), regex: OnceLock::new() }
    }

    fn source<'a>(&'a self, written: &'a str) -> &'a str {
        self.translated.as_deref().unwrap_or(written)
    }

    /// The same as steps that mark `groups`, which are the same each time, too.
    pub(super) fn steps<'w>(
        &self,
        written: impl FnOnce() -> &'w str,
        groups: [Option<usize>; GROUPS],
    ) -> Option<&Steps> {
        let compile = || Steps::of(&pattern::syntax(self.source(written()))?, groups).map(Box::new);
        self.steps.get_or_init(compile).as_deref()
    }

    /// What the newest line has to begin with, where that is known: for a pattern of several lines.
    pub(super) fn tail<'w>(&self, written: impl FnOnce() -> &'w str) -> Option<&Tail> {
        self.tail.get_or_init(|| Tail::of(&pattern::syntax(self.source(written()))?).map(Box::new)).as_deref()
    }

    /// `None` cannot happen to a source that was found good; it then matches nothing.
    pub(super) fn regex<'w>(&self, written: impl FnOnce() -> &'w str) -> Option<&Compiled> {
        let compile = || {
            let regex = pattern::build(self.source(written())).ok()?;
            let places = Mutex::new(regex.capture_locations());
            Some(Box::new(Compiled { regex, places }))
        };
        self.regex.get_or_init(compile).as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Format;

    #[test]
    fn a_pattern_that_cannot_be_compiled_is_refused_at_once() {
        for bad in ["(", "a**b{2", r"\p{Nonsense}", r"(?:\w{1000}){1000}", "(?P<a>x)(?P<a>y)"] {
            assert!(pattern::compiled(Format::Native, bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn threads_may_share_it() {
        fn is_shared<T: Send + Sync>() {}
        is_shared::<LazyPattern>();
    }

    #[test]
    fn what_is_taken_also_compiles() {
        for good in [r"(?u)\w+ä", r"\xff+", r"(?i)oops", r"(?:\w{30}){20}", "", r"(?u:\w{3})"] {
            let (source, _) = pattern::compiled(Format::Native, good).unwrap();
            assert!(LazyPattern::new(&source, good).regex(|| good).is_some(), "{good}");
        }
    }
}
