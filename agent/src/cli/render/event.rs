//! The line of an event.

use jiff::{Timestamp, tz::TimeZone};
use nodewell_model::{Severity, view::EventView};
use nodewell_time::{age, local};

use super::look::{Look, Paint, one_line, pad};

/// How much of an event is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventStyle {
    /// For lines that are read later: the local time.
    Time,
    /// How long before this it was.
    Age(Timestamp),
    /// The local time, and all that is known of it.
    Wide,
}

/// Time, severity, reason, subject, count, message; with [`EventStyle::Wide`] condition and source before that.
#[must_use]
pub fn event_row(event: &EventView, style: EventStyle, look: Look) -> String {
    row(event, style, &look, &TimeZone::system())
}

fn row(event: &EventView, style: EventStyle, look: &Look, zone: &TimeZone) -> String {
    let time = match style {
        EventStyle::Time | EventStyle::Wide => local(event.timestamp, zone),
        EventStyle::Age(now) => format!("{:>4}", age(event.timestamp, now)),
    };
    let all = match style {
        EventStyle::Wide => wide(event),
        EventStyle::Time | EventStyle::Age(_) => String::new(),
    };
    let test = if event.test { "[test] " } else { "" };
    let head = format!(
        "{time}  {}  {:<20}  {}  {:<5}  {all}",
        look.paint(colour(event.severity), &format!("{:<8}", event.severity)),
        event.reason,
        pad(&one_line(event.subject.as_deref().unwrap_or("-")), 12),
        // One is what it looks like: what it began may have come again since, and has its own count.
        if event.count > 1 { format!("{}{}", look.sign("×", "x"), event.count) } else { String::new() },
    );
    format!("{head}{test}{}", one_line(&event.message)).trim_end().to_owned()
}

/// An event in one line that fits the look's width: how long ago, severity, reason, subject, count, message.
pub(in crate::cli) fn event_summary(event: &EventView, now: Timestamp, look: Look) -> String {
    let head = format!("{:>4}  ", age(event.timestamp, now));
    let severity = format!("{:<8}", event.severity);
    let count = (event.count > 1).then(|| format!("{}{}", look.sign("×", "x"), event.count));
    let test = event.test.then(|| "[test]".to_owned());
    let (subject, message) = (event.subject.clone(), Some(event.message.clone()));
    let parts = [Some(event.reason.to_string()), subject, count, test, message];
    let rest = parts.into_iter().flatten().collect::<Vec<_>>().join("  ");
    let taken = head.len() + severity.len() + 2;
    let room = look.width.map_or(usize::MAX, |width| width.saturating_sub(taken));
    format!("{head}{}  {}", look.paint(colour(event.severity), &severity), look.fit(&rest, room))
}

fn wide(event: &EventView) -> String {
    let condition = event.condition.as_ref().map_or("-", |name| name.as_str());
    format!("{condition:<20}  {}  ", pad(&one_line(&event.source), 20))
}

/// The colour of a severity.
pub(in crate::cli) fn colour(severity: Severity) -> Paint {
    match severity {
        Severity::Info => Paint::Faint,
        Severity::Warn => Paint::Warning,
        Severity::Error | Severity::Critical => Paint::Bad,
    }
}

#[cfg(test)]
mod tests {
    use nodewell_model::Name;

    use super::*;

    fn event() -> EventView {
        EventView {
            id: 7,
            severity: Severity::Error,
            timestamp: "2026-11-21T02:00:00.75Z".parse().unwrap(),
            reason: Name::fixed("Ext4Error"),
            message: "EXT4-fs error\n(device sda1)".to_owned(),
            subject: Some("sda1".to_owned()),
            source: "kernel-monitor".to_owned(),
            condition: Some(Name::fixed("DiskUnhealthy")),
            count: 3,
            test: false,
        }
    }

    #[test]
    fn a_line_has_its_columns() {
        let mut event = event();
        assert_eq!(
            row(&event, EventStyle::Time, &Look::PLAIN, &TimeZone::UTC),
            "2026-11-21T02:00:00+00:00  error     Ext4Error             sda1          ×3     EXT4-fs error (device sda1)"
        );
        event.subject = None;
        event.test = true;
        event.count = 1;
        let ascii = Look { unicode: false, ..Look::PLAIN };
        assert_eq!(
            row(&event, EventStyle::Time, &ascii, &TimeZone::UTC),
            "2026-11-21T02:00:00+00:00  error     Ext4Error             -                    [test] EXT4-fs error (device sda1)"
        );
    }

    #[test]
    fn a_summary_fits_its_line() {
        let now = "2026-11-21T02:12:01Z".parse().unwrap();
        let look = Look { width: Some(50), ..Look::PLAIN };
        assert_eq!(event_summary(&event(), now, look), " 12m  error     Ext4Error  sda1  ×3  EXT4-fs erro…");
        let whole = " 12m  error     Ext4Error  sda1  ×3  EXT4-fs error (device sda1)";
        assert_eq!(event_summary(&event(), now, Look::PLAIN), whole);
    }

    #[test]
    fn an_age_stands_for_the_time_and_wide_shows_all() {
        let now = "2026-11-21T02:12:01Z".parse().unwrap();
        assert_eq!(
            row(&event(), EventStyle::Age(now), &Look::PLAIN, &TimeZone::UTC),
            " 12m  error     Ext4Error             sda1          ×3     EXT4-fs error (device sda1)"
        );
        assert_eq!(
            row(&event(), EventStyle::Wide, &Look::PLAIN, &TimeZone::UTC),
            "2026-11-21T02:00:00+00:00  error     Ext4Error             sda1          ×3     DiskUnhealthy         kernel-monitor        EXT4-fs error (device sda1)"
        );
    }
}
