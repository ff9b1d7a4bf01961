//! fabric

use serde_json::Value;

use crate::{Findings, Judge, ReadError, Reader, Roots, Round, settings::FabricSettings};

/// Reads in a worker.
pub struct FabricReader;

/// Judges in the satellite.
pub struct FabricJudge;

impl FabricReader {
    #[must_use]
    pub fn new(_roots: Roots, _settings: &FabricSettings) -> Self {
        Self
    }
}

impl FabricJudge {
    #[must_use]
    pub fn new(_settings: FabricSettings) -> Self {
        Self
    }
}

impl Reader for FabricReader {
    fn list(&mut self) -> Result<Vec<String>, ReadError> {
        Ok(Vec::new())
    }

    fn read(&mut self, device: &str) -> Result<Value, ReadError> {
        Err(ReadError::Gone { what: device.to_owned() })
    }
}

impl Judge for FabricJudge {
    fn judge(&mut self, _round: Round) -> Findings {
        Findings::default()
    }
}
