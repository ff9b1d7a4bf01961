//! What is said of a device that nobody can judge.

use nodewell_model::Name;

use crate::{State, Trouble};

/// A device that never answers is told from one whose answer is of no use.
pub(crate) fn unknown(trouble: &Trouble) -> State {
    let (reason, message) = match trouble {
        Trouble::Silent(silence) => ("DeviceNotAnswering", silence.message.clone()),
        Trouble::Read(error) => ("DeviceUnreadable", error.to_string()),
    };
    State::Unknown { reason: Name::fixed(reason), message }
}
