//! The line of an event.

use jiff::tz::TimeZone;
use nodewell_model::{Severity, view::EventView};

use super::look::{Look, Paint, one_line};
use crate::cli::age::local;

/// Time (local), severity, reason, subject, count, message.
#[must_use]
pub fn event_line(event: &EventView, look: Look) -> String {
    line(event, &look, &TimeZone::system())
}

fn line(event: &EventView, look: &Look, zone: &TimeZone) -> String {
    let test = if event.test { "[test] " } else { "" };
    let head = format!(
        "{}  {}  {:<20}  {:<12}  {:<5}  ",
        local(event.timestamp, zone),
        look.paint(colour(event.severity), &format!("{:<8}", event.severity)),
        event.reason,
        one_line(event.subject.as_deref().unwrap_or("-")),
        format!("{}{}", look.sign("×", "x"), event.count),
    );
    format!("{head}{test}{}", one_line(&event.message))
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

    #[test]
    fn a_line_has_its_columns() {
        let mut event = EventView {
            id: 7,
            severity: Severity::Error,
            timestamp: "2026-11-21T02:00:00.75Z".parse().unwrap(),
            reason: Name::fixed("Ext4Error"),
            message: "EXT4-fs error\n(device sda1)".to_owned(),
            subject: Some("sda1".to_owned()),
            source: "kernel-monitor".to_owned(),
            condition: None,
            count: 3,
            test: false,
        };
        assert_eq!(
            line(&event, &Look::PLAIN, &TimeZone::UTC),
            "2026-11-21T02:00:00+00:00  error     Ext4Error             sda1          ×3     EXT4-fs error (device sda1)"
        );
        event.subject = None;
        event.test = true;
        let ascii = Look { unicode: false, ..Look::PLAIN };
        assert_eq!(
            line(&event, &ascii, &TimeZone::UTC),
            "2026-11-21T02:00:00+00:00  error     Ext4Error             -             x3     [test] EXT4-fs error (device sda1)"
        );
    }
}
