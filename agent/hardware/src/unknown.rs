//! What is reported of a device that cannot be judged.

use nodewell_model::Name;

use crate::{ReadError, State, Trouble};

/// A device that never answers is distinguished from one whose answer is of no use, and from one that we may not ask.
#[must_use]
pub fn unknown(trouble: &Trouble) -> State {
    let (reason, message) = match trouble {
        Trouble::Silent(silence) => ("DeviceNotAnswering", silence.message.clone()),
        Trouble::Read(error @ ReadError::Denied { .. }) => ("PermissionDenied", error.to_string()),
        Trouble::Read(error) => ("DeviceUnreadable", error.to_string()),
    };
    State::Unknown { reason: Name::fixed(reason), message }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Silence;

    /// Every error that is not an absence, and what is reported then.
    pub(crate) fn troubles() -> [(Trouble, &'static str); 4] {
        let since = jiff::Timestamp::UNIX_EPOCH;
        let message = || "as a test says".to_owned();
        [
            (Trouble::Silent(Silence { since, message: message() }), "DeviceNotAnswering"),
            (Trouble::Read(ReadError::Failed { message: message() }), "DeviceUnreadable"),
            (Trouble::Read(ReadError::Unsupported { message: message() }), "DeviceUnreadable"),
            (Trouble::Read(ReadError::Denied { message: message() }), "PermissionDenied"),
        ]
    }

    #[test]
    fn the_reason_is_told_with_the_readers_own_words() {
        for (trouble, expected) in troubles() {
            let State::Unknown { reason, message } = unknown(&trouble) else { panic!("{trouble:?}") };
            assert!(reason.as_str() == expected && message.ends_with("as a test says"), "{reason}: {message}");
        }
    }
}
