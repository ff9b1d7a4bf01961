//! disk

use serde_json::Value;

use crate::{Findings, Judge, ReadError, Reader, Roots, Round, settings::DiskSettings};

/// Reads in a worker.
pub struct DiskReader;

/// Judges in the satellite.
pub struct DiskJudge;

impl DiskReader {
    #[must_use]
    pub fn new(_roots: Roots, _settings: &DiskSettings) -> Self {
        Self
    }
}

impl DiskJudge {
    #[must_use]
    pub fn new(_settings: DiskSettings) -> Self {
        Self
    }
}

impl Reader for DiskReader {
    fn list(&mut self) -> Result<Vec<String>, ReadError> {
        Ok(Vec::new())
    }

    fn read(&mut self, device: &str) -> Result<Value, ReadError> {
        Err(ReadError::Gone { what: device.to_owned() })
    }
}

impl Judge for DiskJudge {
    fn judge(&mut self, _round: Round) -> Findings {
        Findings::default()
    }
}
