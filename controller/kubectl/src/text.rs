//! Views as text for people.

mod controller;
pub(crate) mod events;
pub(crate) mod fleet;
mod fold;
mod look;
pub(crate) mod node;
mod table;
pub(crate) mod why;

use jiff::{Timestamp, tz::TimeZone};

pub(crate) use self::look::{Look, one_line};

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// What is not well, the first of many; the rest is one line.
    Folded,
    /// All of it.
    All,
    /// The same, with every field and in lines as long as they are.
    Wide,
}

/// What every text is made with.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) look: Look,
    pub(crate) extent: Extent,
    pub(crate) now: Timestamp,
    pub(crate) zone: TimeZone,
}

impl Page {
    /// For what is never cut.
    fn uncut(&self) -> Look {
        Look { width: None, ..self.look }
    }

    fn shows_all(&self) -> bool {
        self.extent != Extent::Folded
    }

    fn is_wide(&self) -> bool {
        self.extent == Extent::Wide
    }

    fn age(&self, then: Option<Timestamp>) -> String {
        then.map_or_else(|| "-".to_owned(), |then| nodewell_time::age(then, self.now))
    }
}

/// `1 node`, `2 nodes`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Lines about what could not be read.
fn notes(notes: &[String]) -> String {
    notes.iter().map(|note| format!("note: {}\n", one_line(note))).collect()
}
