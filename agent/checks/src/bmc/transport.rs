//! How a command reaches the BMC: by the kernel's device; in tests, a BMC that is made up.

use std::time::Duration;

use nodewell_sys::ipmi::{Command, Device};

/// A BMC answers within milliseconds, a busy one within a second or two.
const DEADLINE: Duration = Duration::from_secs(5);

/// Asks one command at a time.
pub(super) trait Transport {
    /// The answer: its completion code and what follows it. Else why there is none.
    fn request(&mut self, command: &Command<'_>) -> Result<Vec<u8>, String>;
}

impl Transport for Device {
    fn request(&mut self, command: &Command<'_>) -> Result<Vec<u8>, String> {
        Device::request(self, command, DEADLINE).map_err(|error| error.to_string())
    }
}
