//! The messages that go with the catalogue of reasons: what a condition or an Event says, with its figures.

use std::sync::LazyLock;

use nodewell_message::{Catalogue, EVENT_LIMIT, LIMIT, MessageArgs, Template};

use crate::catalogue::{FILES, Span};

/// A message in the program.
struct Message {
    /// Of its key and its text.
    place: Span,
    quotes: bool,
}

/// Every message by key, as part of the program: what composes them all day neither parses files nor holds examples.
static MESSAGES: &[Message] = include!(concat!(env!("OUT_DIR"), "/messages.rs"));
static TEXTS: &str = include!(concat!(env!("OUT_DIR"), "/messages_texts.rs"));

impl Message {
    fn template(&self) -> Template<'static> {
        let (key, text) = self.place.texts(TEXTS);
        Template { key, text, limit: if self.quotes { EVENT_LIMIT } else { LIMIT } }
    }
}

/// All of them, for the reference.
#[must_use]
pub fn messages() -> &'static Catalogue {
    static ALL: LazyLock<Catalogue> = LazyLock::new(|| Catalogue::read(FILES));
    &ALL
}

/// The message of `key` with its figures: one line of at most [`nodewell_message::LIMIT`] bytes, or
/// [`nodewell_message::EVENT_LIMIT`] for an Event that quotes others.
///
/// # Panics
/// In debug builds, if the catalogue has no such message or other arguments: a bug that tests find.
#[must_use]
pub fn message(key: &str, args: MessageArgs<'_>) -> String {
    let found = MESSAGES.binary_search_by(|message| message.template().key.cmp(key));
    Template::compose(found.ok().map(|index| MESSAGES[index].template()), key, args)
}

/// The reason that a key begins with.
#[must_use]
pub fn reason_of(key: &'static str) -> &'static str {
    key.split_once('/').map_or(key, |(reason, _)| reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_may_ship() {
        assert_eq!(messages().diagnostics(), [""; 0]);
    }

    #[test]
    fn the_program_has_what_the_files_have() {
        let listed: Vec<Template<'_>> = messages().entries().map(nodewell_message::Entry::template).collect();
        assert_eq!(MESSAGES.iter().map(Message::template).collect::<Vec<_>>(), listed);
    }
}
