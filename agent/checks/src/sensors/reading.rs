//! What one look at the chips brings.

use serde::{Deserialize, Serialize};

/// All chips are one device: they share buses, and a round of them is one look.
pub(super) const ALL: &str = "sensors";

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct SensorsReading {
    pub fans: Vec<Fan>,
    pub temperatures: Vec<Temperature>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Fan {
    pub subject: String,
    /// As the driver, or the operator's configuration of it, names it.
    pub label: Option<String>,
    /// Turns a minute; unset if the chip does not answer for it.
    pub rpm: Option<u64>,
    /// The chip lets it stand: its duty cycle is 0.
    pub is_off: bool,
    /// The chip's own words: it turns too slowly, or its wire is open. Unset if it has none.
    pub alarm: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Temperature {
    pub subject: String,
    pub label: Option<String>,
    /// In thousandths of a degree Celsius, as the limit; unset if any of it cannot be read.
    pub value: Option<i64>,
    pub critical: Option<i64>,
    /// The chip's own words: it is above its critical limit or its limit for emergencies. Unset if it has none.
    pub alarm: Option<bool>,
}
