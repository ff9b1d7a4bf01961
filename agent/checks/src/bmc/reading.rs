//! What one look at the BMC takes, and what it brings.

use serde::{Deserialize, Serialize};

use super::{
    event::{RawRecord, SensorAddress},
    walk::LogCursor,
};

/// The one device; a board has one BMC.
pub(super) const BMC: &str = "BMC";

/// What the judge wants to know: the cursor, as the probe framework calls it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Question {
    /// `None`: before the first look at this node.
    pub log: Option<LogCursor>,
    /// The sensors of what is asserted.
    pub sensors: Vec<SensorAddress>,
}

/// The BMC's answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BmcReading {
    pub entries: u16,
    pub free_bytes: u16,
    pub is_overflow: bool,
    /// The log was cleared since the look before.
    pub is_cleared: bool,
    /// The log was read to its end.
    pub is_whole: bool,
    pub records: Vec<LogRecord>,
    pub log: LogCursor,
    pub sensors: Vec<SensorReading>,
}

/// An entry that was not read before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LogRecord {
    pub record: RawRecord,
    /// It was written since the first look.
    pub is_news: bool,
}

/// What a sensor shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SensorReading {
    pub address: SensorAddress,
    /// A bit each; `None`: nothing now.
    pub states: Option<u16>,
}
