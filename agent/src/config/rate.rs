//! Rates as people write them: `20` a second, `"100/s"`, `"30/m"`.

use std::{ops::RangeInclusive, time::Duration};

use nodewell_settings::{
    Kind, Report, Schema, Section,
    kind::{Number, quoted},
};

/// Reports at once. The highest is no limit in practice.
pub(super) const BURSTS: RangeInclusive<u32> = 1..=1_000_000;
/// In the unit that was named; a millionth of a second is as fine as it gets.
const COUNTS: RangeInclusive<u32> = 1..=1_000_000;

/// A rate, as the time between two.
pub(super) struct Rate;

impl Kind for Rate {
    type Of = Duration;

    fn read(&self, section: Section<'_>, key: &'static str, report: &mut Report<'_>) -> Option<Duration> {
        if section.value(key)?.get_ref().is_integer() {
            return section.number(key, COUNTS, report).map(|count| Duration::from_secs(1) / count);
        }
        let word = section.required(key, report)?;
        let found = parse(word.text);
        if found.is_none() {
            report.error(word.at, format!("{key:?} takes {}, not {:?}", self.takes(), word.text));
        }
        found
    }

    fn shown(&self, value: &Duration) -> Option<String> {
        let units = [("s", 1), ("m", 60), ("h", 3600)].map(|(unit, secs)| (unit, Duration::from_secs(secs)));
        // The first unit in which it is a whole number: times are cut to nanoseconds.
        let count = |per: Duration| u32::try_from((per + *value / 2).as_nanos().checked_div(value.as_nanos())?).ok();
        let mut whole =
            units.iter().filter_map(|(unit, per)| Some((unit, *per, count(*per).filter(|count| *count > 0)?)));
        let (unit, _, count) = whole.find(|(_, per, count)| *per / *count == *value)?;
        Some(quoted(&format!("{count}/{unit}")))
    }

    fn takes(&self) -> String {
        "a number of reports a second, or a word such as \"100/s\" or \"30/m\"".to_owned()
    }

    fn schema(&self) -> Schema {
        Schema::AnyOf(vec![Number(COUNTS).schema(), Schema::Text(r"^\s*\+?[0-9]+\s*/\s*[smh]\s*$")])
    }
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
        for text in ["3/s", "7/s", "7/m", "90/m", "1/h", "20/s", "1000000/s", "61/h"] {
            assert_eq!(Rate.shown(&parse(text).unwrap()), Some(format!("{text:?}")));
        }
        for text in ["", "100", "/s", "0/s", "-1/s", "1.5/s", "100/d", "9999999/s", "1/s/s"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
