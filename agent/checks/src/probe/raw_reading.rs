//! A reading on its way from a worker to its judge.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::{RawValue, to_raw_value};

use super::{PollError, ReadError};

/// JSON of the check's own type: written once, by the reader, and read once, by the judge.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawReading(Box<RawValue>);

impl RawReading {
    /// The reading as it goes to the check process.
    pub fn of(reading: &impl Serialize) -> Result<Self, ReadError> {
        to_raw_value(reading).map(Self).map_err(|error| ReadError::Failed { message: error.to_string() })
    }

    /// The reading again. A worker of another version, or one that was written over, may have sent anything.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, PollError> {
        let failed = |error| ReadError::Failed { message: format!("its reading: {error}") };
        serde_json::from_str(self.0.get()).map_err(|error| PollError::Read(failed(error)))
    }
}

impl PartialEq for RawReading {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

/// Texts are equal or not.
impl Eq for RawReading {}

#[cfg(test)]
impl From<serde_json::Value> for RawReading {
    fn from(value: serde_json::Value) -> Self {
        Self::of(&value).unwrap()
    }
}
