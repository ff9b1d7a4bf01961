//! The state that a judge saved last: the same state is not written again.

use serde::Serialize;
use serde_json::Value;

/// Nothing yet.
#[derive(Debug, Default)]
pub struct LastSaved(Value);

impl LastSaved {
    /// As an earlier run saved it.
    #[must_use]
    pub fn of(saved: Value) -> Self {
        Self(saved)
    }

    /// `state` as JSON, if it is not what was saved last.
    pub fn if_changed(&mut self, state: &impl Serialize) -> Option<Value> {
        let state = serde_json::to_value(state).ok()?;
        (state != self.0).then(|| self.0.clone_from(&state)).map(|()| state)
    }
}
