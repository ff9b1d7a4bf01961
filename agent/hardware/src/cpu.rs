//! cpu

use serde_json::Value;

use crate::{Findings, Judge, ReadError, Reader, Roots, Round, settings::CpuSettings};

/// Reads in a worker.
pub struct CpuReader;

/// Judges in the satellite.
pub struct CpuJudge;

impl CpuReader {
    #[must_use]
    pub fn new(_roots: Roots, _settings: &CpuSettings) -> Self {
        Self
    }
}

impl CpuJudge {
    #[must_use]
    pub fn new(_settings: CpuSettings) -> Self {
        Self
    }
}

impl Reader for CpuReader {
    fn list(&mut self) -> Result<Vec<String>, ReadError> {
        Ok(Vec::new())
    }

    fn read(&mut self, device: &str) -> Result<Value, ReadError> {
        Err(ReadError::Gone { what: device.to_owned() })
    }
}

impl Judge for CpuJudge {
    fn judge(&mut self, _round: Round) -> Findings {
        Findings::default()
    }
}
