//! Copies of records that ended, kept for a while for people. A record of the node's own name is one that is open; a copy
//! has another name.

use serde_json::Value;

/// Between the node's name and the beginning of the record's UID.
const ENDED: &str = "-ended-";
/// A name has at most 253 letters.
const NODE_CHARS: usize = 230;
/// The annotation of a copy: the UID of the record that it is a copy of.
pub const RECORD: &str = "nodewell.dev/record";

/// Whether an object is such a copy: what is open is named like its node. Neither name can be changed.
#[must_use]
pub fn is_ended(fence: &Value) -> bool {
    let name = fence["metadata"]["name"].as_str().unwrap_or_default();
    name.contains(ENDED) && fence["spec"]["nodeName"].as_str().is_some_and(|node| node != name)
}

/// The name of the copy of the record of `node` that had this UID.
#[must_use]
pub fn name_of(node: &str, uid: &str) -> String {
    let node: String = node.chars().take(NODE_CHARS).collect();
    let uid: String = uid.chars().take(8).collect();
    format!("{}{ENDED}{uid}", node.trim_end_matches(['.', '-']))
}
