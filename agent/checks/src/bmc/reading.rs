//! What one look at the BMC takes, and what it brings.

use serde::{Deserialize, Serialize};

use super::{
    event::{RawRecord, SensorAddress},
    names::NamedModule,
    repository::{NamesReading, RepositoryCursor},
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
    /// Where to go on reading the names of sensors; `None`: not in this look.
    pub names: Option<RepositoryCursor>,
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
    /// Or why there are none, if they were asked for and there was time.
    pub names: Option<Result<NamesReading, String>>,
    /// Memory modules, where one of the entries may be of one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<NamedModule>,
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
