//! memory

use serde_json::Value;

use crate::{Findings, Judge, ReadError, Reader, Roots, Round, settings::MemorySettings};

/// Reads in a worker.
pub struct MemoryReader;

/// Judges in the satellite.
pub struct MemoryJudge;

impl MemoryReader {
    #[must_use]
    pub fn new(_roots: Roots, _settings: &MemorySettings) -> Self {
        Self
    }
}

impl MemoryJudge {
    #[must_use]
    pub fn new(_settings: MemorySettings) -> Self {
        Self
    }
}

impl Reader for MemoryReader {
    fn list(&mut self) -> Result<Vec<String>, ReadError> {
        Ok(Vec::new())
    }

    fn read(&mut self, device: &str) -> Result<Value, ReadError> {
        Err(ReadError::Gone { what: device.to_owned() })
    }
}

impl Judge for MemoryJudge {
    fn judge(&mut self, _round: Round) -> Findings {
        Findings::default()
    }
}
