//! What a judge handed out last to be saved: the same again is not written again.

use serde::Serialize;
use serde_json::Value;

/// Nothing yet.
#[derive(Debug, Default)]
pub struct Kept(Value);

impl Kept {
    /// As an earlier run saved it.
    #[must_use]
    pub fn of(kept: Value) -> Self {
        Self(kept)
    }

    /// `memory` as JSON, if it is not what was handed out last.
    pub fn news(&mut self, memory: &impl Serialize) -> Option<Value> {
        let memory = serde_json::to_value(memory).ok()?;
        (memory != self.0).then(|| self.0.clone_from(&memory)).map(|()| memory)
    }
}
