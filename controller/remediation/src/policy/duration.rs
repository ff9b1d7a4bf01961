//! Durations of policies: `30s`, `5m`, `1h30m`, `2d`, `500ms`.

use std::time::Duration;

pub use nodewell_time::duration::{parse_in_order as parse, shown_in_days as show};

use crate::api::policy::DurationString;

impl DurationString {
    /// Its value; see [`parse`].
    pub fn duration(&self) -> Result<Duration, String> {
        parse(&self.0)
    }
}
