//! Strings that read as dates, in the fourteen formats that govaluate tries, as Go's `time.Parse` reads them.

use jiff::civil;

/// One piece of a format.
#[derive(Debug, Clone, Copy)]
enum Piece {
    /// Any day's name in three letters; it is not checked against the date.
    Weekday,
    /// A month's name in three letters.
    MonthName,
    Year,
    /// Two digits.
    Month,
    /// Two digits.
    Day,
    /// One or two digits, a blank before one.
    ShortDay,
    Hour,
    /// Of twelve.
    Hour12,
    Minute,
    /// With or without a fraction, which is cut off.
    Second,
    HalfDay,
    /// Three to five capital letters. They are taken for UTC, but for `GMT+3`.
    ZoneName,
    /// `Z07:00` or `-07:00`, with or without the colon, `Z` or not.
    Offset {
        colon: bool,
        z: bool,
    },
    Blank,
    Character(char),
}

use Piece::{
    Blank, Character as Is, Day, HalfDay, Hour, Hour12, Minute, Month, MonthName, Second, ShortDay, Weekday, Year,
    ZoneName,
};

const ISO_ZONE: Piece = Piece::Offset { colon: false, z: true };
const RFC_ZONE: Piece = Piece::Offset { colon: true, z: true };
const DAY: [Piece; 5] = [Year, Is('-'), Month, Is('-'), Day];
const T: Piece = Is('T');
const COLON: Piece = Is(':');

/// The time of the fixed formats after `2006-01-02`.
const AFTER_DAY: [&[Piece]; 8] = [
    &[],
    &[Blank, Hour, COLON, Minute],
    &[Blank, Hour, COLON, Minute, COLON, Second],
    &[Blank, Hour, COLON, Minute, COLON, Second, Piece::Offset { colon: true, z: false }],
    &[T, Hour, COLON, Minute, COLON, Second, RFC_ZONE],
    &[T, Hour, ISO_ZONE],
    &[T, Hour, COLON, Minute, ISO_ZONE],
    &[T, Hour, COLON, Minute, COLON, Second, ISO_ZONE],
];

const NAMED: [&[Piece]; 3] = [
    &[Weekday, Blank, MonthName, Blank, ShortDay, Blank, Hour, COLON, Minute, COLON, Second, Blank, Year],
    &[
        Weekday, Blank, MonthName, Blank, ShortDay, Blank, Hour, COLON, Minute, COLON, Second, Blank, ZoneName, Blank,
        Year,
    ],
    &[
        Weekday,
        Blank,
        MonthName,
        Blank,
        Day,
        Blank,
        Hour,
        COLON,
        Minute,
        COLON,
        Second,
        Blank,
        NUMERIC_ZONE,
        Blank,
        Year,
    ],
];
const NUMERIC_ZONE: Piece = Piece::Offset { colon: false, z: false };

/// `3:04PM`: a time of the first day of the year 0.
const KITCHEN: &[Piece] = &[Hour12, COLON, Minute, HalfDay];

const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Seconds since 1970; nothing if it is no date.
pub(super) fn seconds(text: &str) -> Option<f64> {
    let named = NAMED.iter().copied().chain([KITCHEN]).find_map(|format| read(&[format], text));
    named.or_else(|| AFTER_DAY.iter().find_map(|time| read(&[&DAY, time], text)))
}

fn read(formats: &[&[Piece]], text: &str) -> Option<f64> {
    let mut reading = DateParser { rest: text, year: 0, month: 1, day: 1, ..DateParser::default() };
    for piece in formats.iter().copied().flatten() {
        reading.piece(*piece)?;
    }
    reading.rest.is_empty().then(|| reading.seconds()).flatten()
}

#[derive(Debug, Default)]
struct DateParser<'a> {
    rest: &'a str,
    year: i16,
    month: i8,
    day: i8,
    hour: i64,
    minute: i64,
    second: i64,
    offset: i64,
}

impl<'a> DateParser<'a> {
    fn piece(&mut self, piece: Piece) -> Option<()> {
        match piece {
            Weekday => self.name(&WEEKDAYS).map(|_| ()),
            MonthName => self.name(&MONTHS).and_then(|at| i8::try_from(at + 1).ok()).map(|month| self.month = month),
            Year => self.digits(4, 4).map(|year| self.year = year as i16),
            Month => self.digits(2, 2).map(|month| self.month = month as i8),
            Day => self.digits(2, 2).map(|day| self.day = day as i8),
            ShortDay => self.digits(1, 2).map(|day| self.day = day as i8),
            Hour => self.digits(1, 2).filter(|hour| *hour < 24).map(|hour| self.hour = hour),
            Hour12 => self.digits(1, 2).filter(|hour| *hour <= 12).map(|hour| self.hour = hour),
            Minute => self.digits(2, 2).filter(|minute| *minute < 60).map(|minute| self.minute = minute),
            Second => self.second(),
            HalfDay => self.half_day(),
            ZoneName => self.zone_name(),
            Piece::Offset { colon, z } => self.offset(colon, z),
            Blank => self.blank(),
            Is(c) => self.rest.strip_prefix(c).map(|rest| self.rest = rest),
        }
    }

    fn digits(&mut self, least: usize, most: usize) -> Option<i64> {
        let length = self.rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
        if length < least {
            return None;
        }
        self.take(length)?.parse().ok()
    }

    fn take(&mut self, length: usize) -> Option<&'a str> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    fn name(&mut self, names: &[&str]) -> Option<usize> {
        let word = self.take(3)?.to_ascii_lowercase();
        names.iter().position(|name| *name == word)
    }

    fn second(&mut self) -> Option<()> {
        self.second = self.digits(2, 2).filter(|second| *second < 60)?;
        if let Some(fraction) = self.rest.strip_prefix('.') {
            let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
            self.rest = if digits > 0 { fraction.split_at(digits).1 } else { self.rest };
        }
        Some(())
    }

    fn half_day(&mut self) -> Option<()> {
        match (self.take(2)?, self.hour) {
            ("PM", hour) if hour < 12 => self.hour += 12,
            ("AM", 12) => self.hour = 0,
            ("AM" | "PM", _) => {}
            _ => return None,
        }
        Some(())
    }

    fn zone_name(&mut self) -> Option<()> {
        let letters = self.rest.bytes().take_while(u8::is_ascii_uppercase).count();
        let name = self.take(letters).filter(|name| (3..=5).contains(&name.len()))?;
        if name == "GMT" && self.rest.starts_with(['+', '-']) {
            let sign = if self.take(1)? == "-" { -1 } else { 1 };
            self.offset = sign * self.digits(1, 2)? * 3600;
        }
        Some(())
    }

    fn offset(&mut self, colon: bool, z: bool) -> Option<()> {
        if z && let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Some(());
        }
        let sign = match self.take(1)? {
            "+" => 1,
            "-" => -1,
            _ => return None,
        };
        let hours = self.digits(2, 2).filter(|hours| *hours <= 24)?;
        if colon {
            self.piece(COLON)?;
        }
        let minutes = self.digits(2, 2).filter(|minutes| *minutes < 60)?;
        self.offset = sign * (hours * 3600 + minutes * 60);
        Some(())
    }

    fn blank(&mut self) -> Option<()> {
        let rest = self.rest.trim_start_matches(' ');
        let some = rest.len() < self.rest.len();
        self.rest = rest;
        some.then_some(())
    }

    fn seconds(&self) -> Option<f64> {
        let date = civil::Date::new(self.year, self.month, self.day).ok()?;
        let days = civil::date(1970, 1, 1).until(date).ok()?.get_days();
        let time = self.hour * 3600 + self.minute * 60 + self.second;
        Some((i64::from(days) * 86400 + time - self.offset) as f64)
    }
}
