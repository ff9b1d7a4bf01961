//! What the catalogue defines for a condition type: its reason and message while nothing is wrong.

use serde::{Deserialize, Serialize};

use crate::Name;

/// One condition type of the catalogue. Types outside the catalogue are refused at every border.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ConditionSpec {
    #[serde(rename = "type")]
    pub condition: Name,
    /// The reason while no problem is known, such as `KernelHasNoDeadlock`.
    pub healthy_reason: Name,
    /// The message while no problem is known.
    pub healthy_message: String,
}
