//! pcie

use serde_json::Value;

use crate::{Findings, Judge, ReadError, Reader, Roots, Round, settings::PcieSettings};

/// Reads in a worker.
pub struct PcieReader;

/// Judges in the satellite.
pub struct PcieJudge;

impl PcieReader {
    #[must_use]
    pub fn new(_roots: Roots, _settings: &PcieSettings) -> Self {
        Self
    }
}

impl PcieJudge {
    #[must_use]
    pub fn new(_settings: PcieSettings) -> Self {
        Self
    }
}

impl Reader for PcieReader {
    fn list(&mut self) -> Result<Vec<String>, ReadError> {
        Ok(Vec::new())
    }

    fn read(&mut self, device: &str) -> Result<Value, ReadError> {
        Err(ReadError::Gone { what: device.to_owned() })
    }
}

impl Judge for PcieJudge {
    fn judge(&mut self, _round: Round) -> Findings {
        Findings::default()
    }
}
