//! A layout's elements: which part of the reference time each piece of it is.

/// One piece of a layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Element {
    Literal(String),
    Year,
    YearShort,
    MonthLong,
    MonthShort,
    Month,
    MonthZero,
    WeekdayLong,
    WeekdayShort,
    Day,
    DayUnderscore,
    DayZero,
    /// `002` and `__2`: three places.
    YearDay,
    Hour,
    Hour12,
    Minute,
    Second,
    /// Exactly so many digits after a point or a comma.
    FractionFixed(usize),
    /// Any number of digits, or no fraction at all.
    FractionAny,
    /// `PM` or `pm`.
    HalfDay,
    /// A numeric zone, or `Z`.
    Zone {
        colon: bool,
        minutes: bool,
    },
    ZoneName,
}

/// The words of the reference time. Longer ones come first where one begins with another.
static WORDS: [(&str, Element); 29] = [
    ("January", Element::MonthLong),
    ("Jan", Element::MonthShort),
    ("Monday", Element::WeekdayLong),
    ("Mon", Element::WeekdayShort),
    ("MST", Element::ZoneName),
    ("2006", Element::Year),
    ("002", Element::YearDay),
    ("__2", Element::YearDay),
    ("01", Element::MonthZero),
    ("02", Element::DayZero),
    ("03", Element::Hour12),
    ("04", Element::Minute),
    ("05", Element::Second),
    ("06", Element::YearShort),
    ("15", Element::Hour),
    ("_2", Element::DayUnderscore),
    ("PM", Element::HalfDay),
    ("pm", Element::HalfDay),
    ("Z07:00", zone(true, true)),
    ("Z0700", zone(false, true)),
    ("Z07", zone(false, false)),
    ("-07:00", zone(true, true)),
    ("-0700", zone(false, true)),
    ("-07", zone(false, false)),
    ("1", Element::Month),
    ("2", Element::Day),
    ("3", Element::Hour12),
    ("4", Element::Minute),
    ("5", Element::Second),
];

const fn zone(colon: bool, minutes: bool) -> Element {
    Element::Zone { colon, minutes }
}

/// Cuts a layout into its elements.
pub(super) fn split(layout: &str) -> Vec<Element> {
    let mut elements = Vec::new();
    let mut rest = layout;
    while let Some(c) = rest.chars().next() {
        if let Some((element, length)) = element_at(rest, elements.last()) {
            elements.push(element);
            rest = &rest[length..];
            continue;
        }
        match elements.last_mut() {
            Some(Element::Literal(text)) => text.push(c),
            _ => elements.push(Element::Literal(c.to_string())),
        }
        rest = &rest[c.len_utf8()..];
    }
    elements
}

fn element_at(rest: &str, before: Option<&Element>) -> Option<(Element, usize)> {
    if before == Some(&Element::Second)
        && let Some(found) = fraction(rest)
    {
        return Some(found);
    }
    // In Go an underscore before the year is only an underscore.
    if rest.starts_with("_2006") {
        return None;
    }
    let (word, element) = WORDS.iter().find(|(word, _)| rest.starts_with(word))?;
    // `Month` is a word of its own, not `Mon` and a rest.
    let goes_on = matches!(element, Element::MonthShort | Element::WeekdayShort)
        && rest[word.len()..].starts_with(|c: char| c.is_ascii_lowercase());
    (!goes_on).then(|| (element.clone(), word.len()))
}

/// `.000` or `,999`, where no digit follows.
fn fraction(rest: &str) -> Option<(Element, usize)> {
    let digits = rest.strip_prefix(['.', ','])?;
    let digit = digits.chars().next().filter(|c| matches!(c, '0' | '9'))?;
    let count = digits.chars().take_while(|c| *c == digit).count();
    if digits[count..].starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let element = if digit == '9' { Element::FractionAny } else { Element::FractionFixed(count) };
    Some((element, count + 1))
}
