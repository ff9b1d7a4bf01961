//! Every text of a blocker, an Event and a condition that the controller writes, from the files in `messages/`.

use std::sync::LazyLock;

use nodewell_message::Catalogue;
pub use nodewell_message::MessageArgs;

static MESSAGES: LazyLock<Catalogue> = LazyLock::new(|| {
    Catalogue::read(&[
        include_str!("../messages/guards.toml"),
        include_str!("../messages/fence.toml"),
        include_str!("../messages/phases.toml"),
        include_str!("../messages/conditions.toml"),
        include_str!("../messages/external.toml"),
    ])
});

/// All of them, for the reference.
#[must_use]
pub fn messages() -> &'static Catalogue {
    &MESSAGES
}

/// A reason and its text: `REASON/variant` is the key of one of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub reason: String,
    pub text: String,
}

impl Message {
    /// The message of `key` with its arguments.
    #[must_use]
    pub fn of(key: &str, args: MessageArgs<'_>) -> Self {
        Self { reason: reason(key).to_owned(), text: MESSAGES.compose(key, args) }
    }

    /// One without arguments.
    #[must_use]
    pub fn plain(key: &str) -> Self {
        Self::of(key, &[])
    }
}

fn reason(key: &str) -> &str {
    key.split('/').next().unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_may_ship() {
        assert_eq!(MESSAGES.diagnostics(), [""; 0]);
    }

    #[test]
    fn the_reason_is_the_key_without_its_variant() {
        let message = Message::of(
            "MaxConcurrent",
            &[("policy", &"p"), ("others", &2), ("lives", &"dead"), ("limit", &2), ("field", &"budget")],
        );
        assert_eq!(message.reason, "MaxConcurrent");
        assert!(message.text.starts_with("policy p has 2 other dead nodes"), "{message:?}");
        assert_eq!(Message::plain("FenceClosed/gone").reason, "FenceClosed");
    }
}
