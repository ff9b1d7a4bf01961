//! Fields of a record's status that only a newer controller knows: they are read to be stored again.

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;

use super::NodeFenceStatus;

/// Reads [`NodeFenceStatus::unknown`] too.
pub(super) fn with_unknown_fields<'de, D: Deserializer<'de>>(stored: D) -> Result<NodeFenceStatus, D::Error> {
    let stored = Value::deserialize(stored)?;
    let mut unknown = Vec::new();
    let read = serde_ignored::deserialize(&stored, |path| unknown.push(path.to_string()));
    let mut status: NodeFenceStatus = read.map_err(D::Error::custom)?;
    // A path of two names is found in no object: only fields of the status itself are stored again.
    let kept = |name: String| stored.get(&name).cloned().map(|value| (name, value));
    status.unknown = unknown.into_iter().filter_map(kept).collect();
    Ok(status)
}
