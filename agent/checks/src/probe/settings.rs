//! Keys that the table of each check has.

use std::time::Duration;

use nodewell_settings::{
    Key,
    kind::{Bool, Time},
};
pub(crate) const MINUTE: Duration = Duration::from_mins(1);
/// How often a check may run: a round reads some hundred small files, and what is read less often than once a week is
/// reported too late.
pub const INTERVAL: Time = Time::from(Duration::from_secs(5)).to(Duration::from_hours(7 * 24));

/// The key `enabled` of a check.
#[must_use]
pub fn enabled<S: 'static>(field: fn(&mut S) -> &mut bool) -> Key<S> {
    Key::new("enabled", field, Bool).help("Whether this is looked at; if not, nothing of it is read or reported.")
}

/// The key `interval` of a check.
#[must_use]
pub fn interval<S: 'static>(field: fn(&mut S) -> &mut Duration, limits: Time) -> Key<S> {
    Key::new("interval", field, limits).help("How often it is read.")
}
