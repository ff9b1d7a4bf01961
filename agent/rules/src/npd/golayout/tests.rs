//! Layouts and times, case by case.

use jiff::{Timestamp, Zoned, tz::TimeZone};
use proptest::prelude::*;

use super::Layout;

/// `text` read by `layout` at noon of 2026-01-02 in UTC+1.
fn moment(layout: &str, text: &str) -> Option<String> {
    let now: Timestamp = "2026-01-02T11:00:00Z".parse().unwrap();
    let zone = TimeZone::fixed(jiff::tz::offset(1));
    let time = Layout::parse(layout).unwrap().read(text)?;
    time.resolve(&Zoned::new(now, zone)).map(|moment| moment.to_string())
}

#[test]
fn times_are_read_as_go_reads_them() {
    for (layout, text, expected) in [
        ("Jan _2 15:04:05", "Jan  1 12:23:45", "2026-01-01T11:23:45Z"),
        ("Jan _2 15:04:05", "Jan 01 12:23:45", "2026-01-01T11:23:45Z"),
        ("Jan _2 15:04:05", "jan 1 2:23:45.5", "2026-01-01T01:23:45.5Z"),
        (
            "2006-01-02T15:04:05.999999999-07:00",
            "2017-02-01T17:58:34.999999999-08:00",
            "2017-02-02T01:58:34.999999999Z",
        ),
        ("2006-01-02T15:04:05.999999999-07:00", "2017-02-01T17:58:34+01:30", "2017-02-01T16:28:34Z"),
        ("2006-01-02T15:04:05.999999999-07:00", "2017-02-01T17:58:34.5-08:00", "2017-02-02T01:58:34.5Z"),
        ("2006-01-02T15:04:05Z07:00", "2026-11-21T02:31:05Z", "2026-11-21T02:31:05Z"),
        ("2006-01-02T15:04:05-07:00", "2026-11-21T02:31:05.5Z", "2026-11-21T02:31:05.5Z"),
        ("2006-01-02T15:04:05Z07:00", "2026-11-21T02:31:05.123456+01:00", "2026-11-21T01:31:05.123456Z"),
        ("2006-01-02 15:04:05,000", "2026-11-21 02:31:05,042", "2026-11-21T01:31:05.042Z"),
        ("2006/01/02 15:04:05", "2026/11/21 02:31:05", "2026-11-21T01:31:05Z"),
        ("Mon Jan _2 15:04:05 2006", "Sat Nov 21 02:31:05 2026", "2026-11-21T01:31:05Z"),
        ("Monday, 02-Jan-06 15:04:05 MST", "Saturday, 21-Nov-26 02:31:05 UTC", "2026-11-21T02:31:05Z"),
        ("Mon, 02 Jan 2006 15:04:05 -0700", "Sat, 21 Nov 2026 02:31:05 -0500", "2026-11-21T07:31:05Z"),
        ("January 2, 2006 3:04PM", "November 21, 2026 12:05am", "2026-11-20T23:05:00Z"),
        ("Jan 2 2006 03:04:05 pm Z07", "Nov 21 2026 02:31:05 PM +02", "2026-11-21T12:31:05Z"),
        ("2006-002 15:04", "2026-325 02:31", "2026-11-21T01:31:00Z"),
        ("2006 __2 15h", "2026   1 02h", "2026-01-01T01:00:00Z"),
        ("20060102150405", "20261121023105", "2026-11-21T01:31:05Z"),
        ("[02/Jan/2006:15:04:05 -0700]", "[21/Nov/2026:02:31:05 +0100]", "2026-11-21T01:31:05Z"),
    ] {
        assert_eq!(moment(layout, text).as_deref(), Some(expected), "{layout} {text}");
    }
}

#[test]
fn a_time_of_another_layout_is_refused() {
    for (layout, text) in [
        ("Jan _2 15:04:05", "Foo  1 12:23:45"),
        ("Jan _2 15:04:05", "Jan 32 12:23:45"),
        ("Jan _2 15:04:05", "Feb 30 12:23:45"),
        ("Jan _2 15:04:05", "Jan  1 24:00:00"),
        ("Jan _2 15:04:05", "Jan  1 12:23:45 more"),
        ("Jan _2 15:04:05", "Jan  1 12:23"),
        ("Jan _2 15:04:05", "Jan  0 12:23:45"),
        ("Jan _2 15:04:05", ""),
        ("2006-01-02T15:04:05-07:00", "2017-02-01T17:58:34"),
        ("2006-01-02T15:04:05-07:00", "2017-02-01T17:58:34-99:99"),
        ("2006-01-02 15:04:05,000", "2026-11-21 02:31:05,42"),
        ("2006-01-02 15:04:05", "2026-11-21T02:31:05"),
        ("2006-002 15:04", "2026-366 02:31"),
        ("Jan 2 15:04 PM", "Jan 2 11:04 ä"),
    ] {
        assert_eq!(moment(layout, text), None, "{layout} {text}");
    }
}

#[test]
fn a_missing_year_is_the_one_that_makes_the_line_recent() {
    for (text, expected) in [
        ("Dec 31 23:59:59", "2025-12-31T22:59:59Z"),
        ("Jan  1 00:00:00", "2025-12-31T23:00:00Z"),
        ("Jan  2 18:00:00", "2026-01-02T17:00:00Z"),
        ("Jan  4 00:00:00", "2025-01-03T23:00:00Z"),
        ("Feb 29 00:00:00", "2024-02-28T23:00:00Z"),
    ] {
        assert_eq!(moment("Jan _2 15:04:05", text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn a_layout_that_tells_no_time_is_an_error() {
    for layout in
        ["", "%b %d %H:%M:%S", "15:04:05", "2006-01-02", "2006-01", "yyyy-MM-dd", "Month 15", &"2".repeat(300)]
    {
        assert!(Layout::parse(layout).is_err(), "{layout}");
    }
}

proptest! {
    #[test]
    fn no_layout_and_no_text_makes_it_panic(layout in "[JanMonu0-9_:. ,ZPMäT-]{0,30}", text in "\\PC{0,30}") {
        if let Ok(layout) = Layout::parse(&format!("Jan 2 15{layout}")) {
            let _ = layout.read(&text);
            let _ = layout.read(&format!("Nov 21 02{text}"));
        }
    }
}
