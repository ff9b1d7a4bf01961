//! Reading a time by its layout's elements, as leniently as Go and no more.

use jiff::{civil, tz};

use super::{GoTime, elements::Element};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// What was read so far.
#[derive(Default)]
struct Parts {
    year: Option<i16>,
    month: Option<i8>,
    day: Option<i8>,
    year_day: Option<i16>,
    hour: i8,
    minute: i8,
    second: i8,
    nanosecond: i32,
    afternoon: Option<bool>,
    offset: Option<tz::Offset>,
}

/// Reads all of `text`; `None` if it is not of this layout.
pub(super) fn read(elements: &[Element], text: &str) -> Option<GoTime> {
    let mut parts = Parts::default();
    let mut rest = text;
    for (index, element) in elements.iter().enumerate() {
        rest = parts.take(element, rest)?;
        let fraction_follows =
            matches!(elements.get(index + 1), Some(Element::FractionFixed(_) | Element::FractionAny));
        if *element == Element::Second && !fraction_follows {
            rest = parts.fraction(rest).unwrap_or(rest);
        }
    }
    if rest.is_empty() { parts.finish() } else { None }
}

impl Parts {
    /// Takes one element off `text`; what is left.
    fn take<'t>(&mut self, element: &Element, text: &'t str) -> Option<&'t str> {
        match element {
            Element::Literal(literal) => skip(literal, text),
            Element::Year | Element::YearShort => self.year(element, text),
            Element::MonthLong | Element::MonthShort | Element::Month | Element::MonthZero => self.month(element, text),
            Element::WeekdayLong => word(text, &WEEKDAYS, usize::MAX).map(|(_, rest)| rest),
            Element::WeekdayShort => word(text, &WEEKDAYS, 3).map(|(_, rest)| rest),
            Element::Day => number(text, 1..=2).map(|(day, rest)| set(&mut self.day, day, rest))?,
            Element::DayUnderscore => {
                let text = text.strip_prefix(' ').unwrap_or(text);
                number(text, 1..=2).map(|(day, rest)| set(&mut self.day, day, rest))?
            }
            Element::DayZero => number(text, 2..=2).map(|(day, rest)| set(&mut self.day, day, rest))?,
            Element::YearDay => self.year_day(text),
            Element::Hour | Element::Hour12 | Element::Minute | Element::Second => self.clock(element, text),
            Element::FractionFixed(digits) => self.fraction(text).filter(|rest| text.len() - rest.len() == digits + 1),
            Element::FractionAny => Some(self.fraction(text).unwrap_or(text)),
            Element::HalfDay => self.half_day(text),
            Element::Zone { colon, minutes } => self.zone(text, *colon, *minutes),
            Element::ZoneName => self.zone_name(text),
        }
    }

    fn year<'t>(&mut self, element: &Element, text: &'t str) -> Option<&'t str> {
        if *element == Element::Year {
            let (year, rest) = number(text, 4..=4)?;
            self.year = i16::try_from(year).ok();
            return Some(rest);
        }
        // As in Go: 69 to 99 are of the last century.
        let (year, rest) = number(text, 2..=2)?;
        self.year = i16::try_from(if year >= 69 { 1900 + year } else { 2000 + year }).ok();
        Some(rest)
    }

    fn month<'t>(&mut self, element: &Element, text: &'t str) -> Option<&'t str> {
        let (month, rest) = match element {
            Element::MonthLong => word(text, &MONTHS, usize::MAX)?,
            Element::MonthShort => word(text, &MONTHS, 3)?,
            Element::MonthZero => number(text, 2..=2)?,
            _ => number(text, 1..=2)?,
        };
        set(&mut self.month, month, rest)
    }

    fn year_day<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let (day, rest) = number(text.trim_start_matches(' '), 1..=3)?;
        self.year_day = i16::try_from(day).ok();
        Some(rest)
    }

    fn clock<'t>(&mut self, element: &Element, text: &'t str) -> Option<&'t str> {
        let (value, rest) = number(text, 1..=2)?;
        let (field, most) = match element {
            Element::Hour => (&mut self.hour, 23),
            Element::Hour12 => (&mut self.hour, 12),
            Element::Minute => (&mut self.minute, 59),
            _ => (&mut self.second, 59),
        };
        // Go refuses a leap second too; a record at one keeps its second.
        let value = if *element == Element::Second && value == 60 { 59 } else { value };
        *field = i8::try_from(value).ok().filter(|value| *value <= most)?;
        Some(rest)
    }

    /// A point or comma and digits; beyond nanoseconds they are dropped.
    fn fraction<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let digits = text.strip_prefix(['.', ','])?;
        let count = digits.bytes().take_while(u8::is_ascii_digit).count();
        let shown = digits.get(..count.min(9)).filter(|shown| !shown.is_empty())?;
        self.nanosecond = format!("{shown:0<9}").parse().ok()?;
        Some(&digits[count..])
    }

    fn half_day<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let half = text.get(..2)?;
        self.afternoon = Some(half.eq_ignore_ascii_case("pm"));
        (half.eq_ignore_ascii_case("am") || half.eq_ignore_ascii_case("pm")).then(|| &text[2..])
    }

    fn zone<'t>(&mut self, text: &'t str, colon: bool, minutes: bool) -> Option<&'t str> {
        if let Some(rest) = text.strip_prefix('Z') {
            self.offset = Some(tz::Offset::UTC);
            return Some(rest);
        }
        let sign = if text.starts_with('-') { -1 } else { 1 };
        let (hours, rest) = number(text.strip_prefix(['+', '-'])?, 2..=2)?;
        let rest = if colon { rest.strip_prefix(':')? } else { rest };
        let (minutes, rest) = if minutes { number(rest, 2..=2).filter(|(m, _)| *m < 60)? } else { (0, rest) };
        let seconds = sign * i32::try_from(hours * 3600 + minutes * 60).ok()?;
        self.offset = Some(tz::Offset::from_seconds(seconds).ok()?);
        Some(rest)
    }

    fn zone_name<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let length = text.bytes().take_while(u8::is_ascii_uppercase).count();
        let (name, rest) = text.split_at(length);
        if matches!(name, "UTC" | "GMT") {
            self.offset = self.offset.or(Some(tz::Offset::UTC));
        }
        (3..=5).contains(&length).then_some(rest)
    }

    fn finish(self) -> Option<GoTime> {
        let hour = match self.afternoon {
            Some(true) if self.hour < 12 => self.hour + 12,
            Some(false) if self.hour == 12 => 0,
            _ => self.hour,
        };
        let time = civil::Time::new(hour, self.minute, self.second, self.nanosecond).ok()?;
        let (month, day) = match self.year_day {
            Some(year_day) => day_of_year(self.year?, year_day)?,
            None => (self.month?, self.day?),
        };
        // Without a year any February may have 29 days.
        civil::Date::new(self.year.unwrap_or(2000), month, day).ok()?;
        Some(GoTime { year: self.year, month, day, time, offset: self.offset })
    }
}

fn day_of_year(year: i16, day: i16) -> Option<(i8, i8)> {
    let date = civil::Date::new(year, 1, 1).ok()?.with().day_of_year(day).build().ok()?;
    Some((date.month(), date.day()))
}

/// Stores a small number that is not zero.
fn set<'t>(field: &mut Option<i8>, value: u32, rest: &'t str) -> Option<&'t str> {
    *field = i8::try_from(value).ok().filter(|value| *value > 0);
    field.is_some().then_some(rest)
}

/// Literal text, in which spaces stand for any number of them.
fn skip<'t>(literal: &str, mut text: &'t str) -> Option<&'t str> {
    let mut after_space = false;
    for c in literal.chars() {
        text = match c {
            ' ' if after_space || text.is_empty() || text.starts_with(' ') => text.trim_start_matches(' '),
            c => text.strip_prefix(c)?,
        };
        after_space = c == ' ';
    }
    Some(text)
}

/// A number of as many digits as there are, within `digits`.
fn number(text: &str, digits: std::ops::RangeInclusive<usize>) -> Option<(u32, &str)> {
    let count = text.bytes().take(*digits.end()).take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(count);
    if digits.contains(&count) { Some((number.parse().ok()?, rest)) } else { None }
}

/// One of `words`, or its first `length` letters, in any case; its number counted from 1.
fn word<'t>(text: &'t str, words: &[&str], length: usize) -> Option<(u32, &'t str)> {
    words.iter().zip(1..).find_map(|(word, index)| {
        let word = &word[..word.len().min(length)];
        text.get(..word.len()).filter(|head| head.eq_ignore_ascii_case(word)).map(|_| (index, &text[word.len()..]))
    })
}
