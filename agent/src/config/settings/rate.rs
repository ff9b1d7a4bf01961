//! Rates as people write them: `20` a second, `"100/s"`, `"30/m"`.

use std::{ops::RangeInclusive, time::Duration};

use nodewell_rules::document::{Report, Section};

/// Reports at once. The highest is no limit in practice.
pub(super) const BURSTS: RangeInclusive<u32> = 1..=1_000_000;
/// In the unit that was named; a millionth of a second is as fine as it gets.
const COUNTS: RangeInclusive<u32> = 1..=1_000_000;

/// The time between two at the rate under the key `rate`.
pub(super) fn interval(section: Section<'_>, report: &mut Report<'_>) -> Option<Duration> {
    if section.value("rate")?.get_ref().is_integer() {
        return section.number("rate", COUNTS, report).map(|count| Duration::from_secs(1) / count);
    }
    let word = section.required("rate", report)?;
    let found = parse(word.text);
    if found.is_none() {
        let takes = "takes a number of reports a second, or a word such as \"100/s\" or \"30/m\"";
        report.error(word.at, format!("\"rate\" {takes}, not {:?}", word.text));
    }
    found
}

fn parse(text: &str) -> Option<Duration> {
    let (count, unit) = text.split_once('/')?;
    let per = match unit.trim() {
        "s" => Duration::from_secs(1),
        "m" => Duration::from_mins(1),
        "h" => Duration::from_hours(1),
        _ => return None,
    };
    let count: u32 = count.trim().parse().ok().filter(|count| COUNTS.contains(count))?;
    Some(per / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_a_number_and_a_unit() {
        for (text, millis) in [("100/s", 10), ("30/m", 2000), ("1/h", 3_600_000), ("20 / s", 50)] {
            assert_eq!(parse(text), Some(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "100", "/s", "0/s", "-1/s", "1.5/s", "100/d", "9999999/s", "1/s/s"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
