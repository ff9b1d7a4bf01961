//! gpu

use serde_json::Value;

use crate::{Findings, Judge, ReadError, Reader, Roots, Round, settings::GpuSettings};

/// Reads in a worker.
pub struct GpuReader;

/// Judges in the satellite.
pub struct GpuJudge;

impl GpuReader {
    #[must_use]
    pub fn new(_roots: Roots, _settings: &GpuSettings) -> Self {
        Self
    }
}

impl GpuJudge {
    #[must_use]
    pub fn new(_settings: GpuSettings) -> Self {
        Self
    }
}

impl Reader for GpuReader {
    fn list(&mut self) -> Result<Vec<String>, ReadError> {
        Ok(Vec::new())
    }

    fn read(&mut self, device: &str) -> Result<Value, ReadError> {
        Err(ReadError::Gone { what: device.to_owned() })
    }
}

impl Judge for GpuJudge {
    fn judge(&mut self, _round: Round) -> Findings {
        Findings::default()
    }
}
