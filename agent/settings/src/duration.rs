//! Durations as people write them: ours (`90s`, `1h30m`, `500ms`, `7d`) and Go's (`1m0s`, `1.5h`, `86400s`).

use std::time::Duration;

/// The longest duration that a rule may ask for. Far beyond use; it keeps sums of times from overflowing.
pub const LIMIT: Duration = Duration::from_secs(366 * 24 * 3600);

/// Parses our own form: whole numbers with the units `d`, `h`, `m`, `s`, `ms`, largest first or not, summed.
///
/// # Errors
/// A message that describes a duration's form.
pub fn parse(text: &str) -> Result<Duration, String> {
    let total = sum(text)?;
    if total.is_zero() { Err(format!("{text:?} must be longer than nothing")) } else { Ok(total) }
}

/// The same, where none at all is one too: `0s`, or `0`, as Node Problem Detector takes it.
///
/// # Errors
/// A message that describes a duration's form.
pub fn parse_or_none(text: &str) -> Result<Duration, String> {
    if text == "0" { Ok(Duration::ZERO) } else { sum(text) }
}

fn sum(text: &str) -> Result<Duration, String> {
    let refusal = || format!("{text:?} is not a duration; write 90s, 20m, 1h30m or 500ms");
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let (number, after) = split_at_end_of(rest, |c| c.is_ascii_digit());
        let (unit, after) = split_at_end_of(after, |c| c.is_ascii_alphabetic());
        let count: u32 = number.parse().map_err(|_| refusal())?;
        total = unit_of(unit)
            .ok_or_else(refusal)?
            .checked_mul(count)
            .and_then(|d| d.checked_add(total))
            .ok_or_else(refusal)?;
        rest = after;
    }
    match total {
        Duration::ZERO if text.is_empty() => Err(refusal()),
        long if long > LIMIT => Err(format!("{text:?} is longer than {} days", LIMIT.as_secs() / 86_400)),
        fine => Ok(fine),
    }
}

/// Parses Go's form (`time.ParseDuration`), which adds fractions, `us`, `ns` and a bare `0`.
///
/// # Errors
/// A message that describes a duration's form; negative ones are refused.
pub fn parse_go(text: &str) -> Result<Duration, String> {
    let refusal = || format!("{text:?} is not a Go duration; write 86400s, 5m or 1m30s");
    if let Some(negative) = text.strip_prefix('-') {
        return if negative == "0" { Ok(Duration::ZERO) } else { Err(format!("{text:?} must not be negative")) };
    }
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let (number, after) = split_at_end_of(rest, |c| c.is_ascii_digit() || c == '.');
        let (unit, after) = split_at_end_of(after, char::is_alphabetic);
        total = go_unit_of(unit)
            .and_then(|unit| scaled(number, unit))
            .and_then(|part| total.checked_add(part))
            .filter(|sum| *sum <= LIMIT)
            .ok_or_else(refusal)?;
        rest = after;
    }
    if text.len() > 1 { Ok(total) } else { Err(refusal()) }
}

/// A duration in our own form, for messages.
#[must_use]
pub fn shown(duration: Duration) -> String {
    let (secs, millis) = (duration.as_secs(), duration.subsec_millis());
    let parts = [(secs / 3600, "h"), (secs / 60 % 60, "m"), (secs % 60, "s"), (u64::from(millis), "ms")];
    let text: String = parts.iter().filter(|(n, _)| *n > 0).map(|(n, unit)| format!("{n}{unit}")).collect();
    if text.is_empty() { "0s".to_owned() } else { text }
}

fn split_at_end_of(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !belongs(c)).unwrap_or(text.len()))
}

fn unit_of(unit: &str) -> Option<Duration> {
    match unit {
        "d" => Some(Duration::from_secs(86_400)),
        "h" => Some(Duration::from_secs(3600)),
        "m" => Some(Duration::from_secs(60)),
        "s" => Some(Duration::from_secs(1)),
        "ms" => Some(Duration::from_millis(1)),
        _ => None,
    }
}

fn go_unit_of(unit: &str) -> Option<Duration> {
    match unit {
        "ns" => Some(Duration::from_nanos(1)),
        // Go takes the micro sign and the Greek letter alike.
        "us" | "\u{b5}s" | "\u{3bc}s" => Some(Duration::from_micros(1)),
        "d" => None,
        other => unit_of(other),
    }
}

/// `number` (digits, at most one point, at least one digit) times `unit`, exact to the nanosecond.
fn scaled(number: &str, unit: Duration) -> Option<Duration> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let count: u32 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // Nine digits are all that nanoseconds can show of an hour's fraction in 64 bits.
    let digits = &fraction[..fraction.len().min(9)];
    let part: u128 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    let nanos = unit.as_nanos() * part / 10_u128.pow(u32::try_from(digits.len()).ok()?);
    unit.checked_mul(count)?.checked_add(Duration::from_nanos(u64::try_from(nanos).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_durations_are_whole_numbers_with_units() {
        for (text, millis) in
            [("90s", 90_000), ("20m", 1_200_000), ("1h30m", 5_400_000), ("500ms", 500), ("7d", 604_800_000)]
        {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "0s", "5", "m", "1.5h", "-5s", "5 s", "99999999999s", "4294967295d", "400d", "5ü"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn where_none_is_allowed_it_is_written_with_or_without_a_unit() {
        for (text, secs) in [("0", 0), ("0s", 0), ("0h0m", 0), ("5m", 300)] {
            assert_eq!(parse_or_none(text), Ok(Duration::from_secs(secs)), "{text}");
        }
        for text in ["", "00", "5", "-0", "0x", "400d"] {
            assert!(parse_or_none(text).is_err(), "{text}");
        }
    }

    #[test]
    fn go_durations_are_read_as_go_reads_them() {
        for (text, millis) in [
            ("86400s", 86_400_000),
            ("1m0s", 60_000),
            ("5m", 300_000),
            ("1.5h", 5_400_000),
            (".5s", 500),
            ("1.s", 1000),
            ("0", 0),
            ("-0", 0),
            ("+5ms", 5),
            ("1000us", 1),
            ("1000\u{b5}s", 1),
            ("1h0.25s", 3_600_250),
        ] {
            assert_eq!(parse_go(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "+", "-", "5", "-5m", ".s", "1.2.3s", "5 m", "1d", "abc", "99999999999999999999h", "5m\0"] {
            assert!(parse_go(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_duration_is_shown_as_it_is_written() {
        for text in ["1h30m", "90ms", "20m", "1h1m1s1ms"] {
            assert_eq!(shown(parse(text).unwrap()), text);
        }
        assert_eq!(shown(Duration::ZERO), "0s");
    }
}
