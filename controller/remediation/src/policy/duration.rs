//! Durations as people write them: `30s`, `5m`, `1h30m`, `2d`, `500ms`.

use std::time::Duration;

use crate::api::policy::DurationString;

/// Longer ones are errors: no setting of a policy is a year.
const MAX_DURATION: Duration = Duration::from_secs(366 * 86_400);

/// Units in the order they have to be written, in milliseconds.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

impl DurationString {
    /// Its value; see [`parse`].
    pub fn duration(&self) -> Result<Duration, String> {
        parse(&self.0)
    }
}

/// Whole numbers, each with its unit, the greatest first, each unit once. A bare number has no unit and is refused.
pub fn parse(text: &str) -> Result<Duration, String> {
    let mut rest = text;
    let mut units = &UNITS[..];
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let (part, unit, after) = first(rest).ok_or_else(|| wrong(text))?;
        let at = units.iter().position(|(name, _)| *name == unit).ok_or_else(|| wrong(text))?;
        let millis = part.checked_mul(units[at].1).ok_or_else(|| too_long(text))?;
        total = total.saturating_add(Duration::from_millis(millis));
        units = &units[at + 1..];
        rest = after;
    }
    match total {
        _ if text.is_empty() => Err(wrong(text)),
        total if total > MAX_DURATION => Err(too_long(text)),
        total => Ok(total),
    }
}

fn first(text: &str) -> Option<(u64, &str, &str)> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, rest) = text.split_at(digits);
    let unit = rest.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (unit, after) = rest.split_at(unit);
    Some((number.parse().ok()?, unit, after))
}

fn wrong(text: &str) -> String {
    format!("`{text}` is no duration; write one as `30s`, `5m` or `1h30m`")
}

fn too_long(text: &str) -> String {
    format!("`{text}` is longer than a year")
}

/// Text that [`parse`] reads: the greatest units first, none that is 0.
#[must_use]
pub fn show(duration: Duration) -> String {
    let mut left = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let mut text = String::new();
    for (unit, millis) in UNITS {
        if left / millis > 0 {
            text.push_str(&format!("{}{unit}", left / millis));
            left %= millis;
        }
    }
    if text.is_empty() { "0s".into() } else { text }
}
