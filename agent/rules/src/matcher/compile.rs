//! A rule's pattern becomes a regex at its first hit.

use std::cell::{OnceCell, RefCell};

use regex::bytes::{CaptureLocations, Regex};

use crate::pattern;

/// A regex that costs nothing until it is first asked for.
pub(super) struct LazyRegex {
    source: String,
    compiled: OnceCell<Option<Compiled>>,
}

/// A regex, and room for what its groups match, so that a match asks for no memory.
pub(super) struct Compiled {
    pub(super) regex: Regex,
    pub(super) places: RefCell<CaptureLocations>,
}

impl LazyRegex {
    /// Stores `source`, which [`pattern::compiled`] has found good.
    pub(super) fn new(source: String) -> Self {
        Self { source, compiled: OnceCell::new() }
    }

    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// `None` cannot happen to a source that was found good; it then matches nothing.
    pub(super) fn get(&self) -> Option<&Compiled> {
        let compile = || {
            let regex = pattern::build(&self.source).ok()?;
            let places = RefCell::new(regex.capture_locations());
            Some(Compiled { regex, places })
        };
        self.compiled.get_or_init(compile).as_ref()
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
    fn what_is_taken_also_compiles() {
        for good in [r"(?u)\w+ä", r"\xff+", r"(?i)oops", r"(?:\w{30}){20}", "", r"(?u:\w{3})"] {
            let (source, _) = pattern::compiled(Format::Native, good).unwrap();
            assert!(LazyRegex::new(source).get().is_some(), "{good}");
        }
    }
}
