//! Go's time layouts, which write a format as the time `Mon Jan 2 15:04:05 MST 2006` would look in it.
//!
//! Understood: years `2006` `06`; months `Jan` `January` `01` `1`; days `02` `_2` `2` and of the year `002` `__2`;
//! weekdays `Mon` `Monday` (read, not checked); hours `15` `03` `3` with `PM` `pm`; minutes `04` `4`; seconds `05` `5`
//! with a fraction `.000` `,000` `.999` `,999` of any length (and a fraction that the layout does not mention, as in
//! Go); zones `Z07:00` `-07:00` `Z0700` `-0700` `Z07` `-07` and `MST`. `Z` is read by every numeric zone: Go's `-07:00`
//! refuses it, and with it every line of a log in UTC. Of zone names UTC and GMT are known; any other is taken for the
//! machine's own zone, as names are ambiguous. A layout must have a day of a month (or of the year) and an hour;
//! everything else in it is literal text, where a space stands for any number of spaces.

mod elements;
mod parse;
#[cfg(test)]
mod tests;

use jiff::{Timestamp, Zoned, civil, tz};

use elements::Element;

/// The longest layout, in bytes.
const LENGTH_LIMIT_BYTES: usize = 256;

/// A layout, ready to read times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    elements: Vec<Element>,
}

/// A time as its text gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoTime {
    /// `None`: the layout has no year; the caller has to infer it from when the line was read.
    pub year: Option<i16>,
    pub month: i8,
    pub day: i8,
    pub time: civil::Time,
    /// `None`: the machine's own time zone.
    pub offset: Option<tz::Offset>,
}

impl Layout {
    /// Reads a layout.
    ///
    /// # Errors
    /// One line that names what is missing.
    pub fn parse(layout: &str) -> Result<Self, String> {
        if layout.len() > LENGTH_LIMIT_BYTES {
            return Err(format!("a layout has at most {LENGTH_LIMIT_BYTES} bytes"));
        }
        let elements = elements::split(layout);
        let has = |wanted: &[Element]| elements.iter().any(|element| wanted.contains(element));
        let day = has(&[Element::Day, Element::DayUnderscore, Element::DayZero]);
        let month = has(&[Element::MonthShort, Element::MonthLong, Element::Month, Element::MonthZero]);
        let year_day = has(&[Element::YearDay]) && has(&[Element::Year, Element::YearShort]);
        let hour = has(&[Element::Hour, Element::Hour12]);
        if hour && (year_day || day && month) {
            return Ok(Self { elements });
        }
        Err(format!(
            "{layout:?} is not a Go time layout with a day and an hour; write the time Mon Jan 2 15:04:05 2006 as the \
             log would"
        ))
    }

    /// Reads a time; `None` if the text is not of this layout.
    #[must_use]
    pub fn read(&self, text: &str) -> Option<GoTime> {
        parse::read(&self.elements, text)
    }
}

impl GoTime {
    /// The moment. A year that the text lacks is the one that puts it last before `now`, with a day's grace for
    /// clocks that differ: a December line read in January is of the year before.
    #[must_use]
    pub fn resolve(&self, now: &Zoned) -> Option<Timestamp> {
        let Some(year) = self.year else {
            let latest = now.timestamp().saturating_add(jiff::SignedDuration::from_hours(24)).ok()?;
            // Eight years back, for a 29 February around a century that is no leap year.
            let years = (0..=8).map(|back| now.year().saturating_add(1) - back);
            return years.filter_map(|year| self.in_year(year, now)).find(|moment| *moment <= latest);
        };
        self.in_year(year, now)
    }

    fn in_year(&self, year: i16, now: &Zoned) -> Option<Timestamp> {
        let date_time = civil::Date::new(year, self.month, self.day).ok()?.to_datetime(self.time);
        match self.offset {
            Some(offset) => offset.to_timestamp(date_time).ok(),
            None => now.time_zone().to_timestamp(date_time).ok(),
        }
    }
}
