//! Durations as people write them: ours (`90s`, `1h30m`, `500ms`, `7d`) and Go's (`1m0s`, `1.5h`, `86400s`).

use std::time::Duration;

/// The longest duration that may be written. Far beyond use; it keeps sums of times from overflowing.
pub const LIMIT: Duration = Duration::from_secs(366 * 24 * 3600);

/// Our units, the greatest first, in milliseconds.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

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
    match total(text) {
        None => Err(format!("{text:?} is not a duration; write 90s, 20m, 1h30m or 500ms")),
        Some((long, _)) if long > LIMIT => Err(format!("{text:?} is longer than {} days", LIMIT.as_secs() / 86_400)),
        Some((fine, _)) => Ok(fine),
    }
}

/// Parses the form of policies: ours, each unit once and the greatest first. None at all is a duration.
///
/// # Errors
/// A message that describes a duration's form.
pub fn parse_in_order(text: &str) -> Result<Duration, String> {
    match total(text) {
        None | Some((_, false)) => Err(format!("`{text}` is no duration; write one as `30s`, `5m` or `1h30m`")),
        Some((long, _)) if long > LIMIT => Err(format!("`{text}` is longer than a year")),
        Some((fine, _)) => Ok(fine),
    }
}

/// The sum of a text's parts, and whether each unit is there once and the greatest first; nothing where it has no form.
fn total(text: &str) -> Option<(Duration, bool)> {
    let (mut rest, mut last, mut total, mut is_in_order) = (text, None::<usize>, Duration::ZERO, true);
    while !rest.is_empty() {
        let (number, unit, after) = first_part(rest);
        let at = UNITS.iter().position(|(name, _)| *name == unit)?;
        let millis = number.parse::<u64>().ok()?.saturating_mul(UNITS[at].1);
        total = total.saturating_add(Duration::from_millis(millis));
        is_in_order &= last.is_none_or(|last| last < at);
        (rest, last) = (after, Some(at));
    }
    (!text.is_empty()).then_some((total, is_in_order))
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
        let (number, unit, after) = first_part(rest);
        total = go_unit_of(unit)
            .and_then(|unit| scaled(number, unit))
            .and_then(|part| total.checked_add(part))
            .filter(|sum| *sum <= LIMIT)
            .ok_or_else(refusal)?;
        rest = after;
    }
    if text.len() > 1 { Ok(total) } else { Err(refusal()) }
}

/// A duration in our own form, in hours at most: `48h`.
#[must_use]
pub fn shown(duration: Duration) -> String {
    written(duration, &UNITS[1..])
}

/// The same in days at most: `2d`.
#[must_use]
pub fn shown_in_days(duration: Duration) -> String {
    written(duration, &UNITS)
}

fn written(duration: Duration, units: &[(&str, u64)]) -> String {
    let (mut left, mut text) = (duration.as_millis(), String::new());
    for (unit, millis) in units {
        let count = left / u128::from(*millis);
        left %= u128::from(*millis);
        if count > 0 {
            text.push_str(&format!("{count}{unit}"));
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// The number at the start of a text, its unit, and what comes after them.
fn first_part(text: &str) -> (&str, &str, &str) {
    let (number, rest) = split_at_end_of(text, |c| c.is_ascii_digit() || c == '.');
    let (unit, rest) = split_at_end_of(rest, char::is_alphabetic);
    (number, unit, rest)
}

fn split_at_end_of(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !belongs(c)).unwrap_or(text.len()))
}

fn go_unit_of(unit: &str) -> Option<Duration> {
    match unit {
        "ns" => Some(Duration::from_nanos(1)),
        // Go takes the micro sign and the Greek letter alike.
        "us" | "\u{b5}s" | "\u{3bc}s" => Some(Duration::from_micros(1)),
        "d" => None,
        other => UNITS.iter().find(|(name, _)| *name == other).map(|(_, millis)| Duration::from_millis(*millis)),
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
        assert!(parse("99999999999999999999d").is_err() && parse("213503982335d1ms").is_err());
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
        let days = Duration::from_hours(49);
        assert_eq!((shown(days), shown_in_days(days)), ("49h".to_owned(), "2d1h".to_owned()));
    }

    #[test]
    fn of_a_policy_each_unit_stands_once_and_the_greatest_first() {
        for (text, millis) in [("0s", 0), ("2d", 172_800_000), ("1h30m", 5_400_000), ("1s500ms", 1500)] {
            assert_eq!(parse_in_order(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["30m1h", "1m1m", "1ms1s"] {
            assert!(parse(text).is_ok() && parse_in_order(text).is_err(), "{text}");
        }
        let year = |text: &str| parse_in_order(text).is_err_and(|error| error.ends_with("longer than a year"));
        assert!(year("500d") && year("99999999999999999d") && !year("") && !year("99999999999999999999s"));
    }
}
