//! `[clock]`: how far it may be off, and for how long it may be unsynchronised.

use std::{ops::RangeInclusive, time::Duration};

use nodewell_checks::settings::ClockSettings;
use nodewell_rules::document::{Report, Section};

use super::{Part, part};

const KEYS: [&str; 7] = ["enabled", "interval", "required", "unsynchronised-after", "offset", "offset-clear", "step"];
const WAITS: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_hours(7 * 24);
/// The kernel's own estimates are in microseconds.
const OFFSETS: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(10);
const STEPS: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_hours(1);

/// What one file or the flags set; `None` where a key is not set.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Clock {
    part: Part,
    required: Option<bool>,
    unsynchronised_after: Option<Duration>,
    offset: Option<Duration>,
    offset_clear: Option<Duration>,
    step: Option<Duration>,
}

pub(super) fn read(file: Section<'_>, report: &mut Report<'_>) -> Clock {
    let Some(table) = file.table("clock", report) else { return Clock::default() };
    let section = Section::new("[clock]", table, &KEYS, report);
    let offset = time(section, "offset", Bounds { range: OFFSETS, text: "from 1ms to 10s" }, report);
    let offset_clear = section.duration("offset-clear", report);
    if offset.zip(offset_clear).is_some_and(|(offset, clear)| clear >= offset) {
        report.error(section.position("offset-clear"), "\"offset-clear\" has to be below \"offset\"");
    }
    Clock {
        part: part(section, report),
        required: section.boolean("required", report),
        unsynchronised_after: time(
            section,
            "unsynchronised-after",
            Bounds { range: WAITS, text: "at most a week (168h)" },
            report,
        ),
        offset,
        offset_clear,
        step: time(section, "step", Bounds { range: STEPS, text: "from 100ms to 1h" }, report),
    }
}

/// What a time may be, and how a message puts it.
struct Bounds {
    range: RangeInclusive<Duration>,
    text: &'static str,
}

fn time(section: Section<'_>, key: &str, bounds: Bounds, report: &mut Report<'_>) -> Option<Duration> {
    let time = section.duration(key, report)?;
    if !bounds.range.contains(&time) {
        report.error(section.position(key), format!("{key:?} is {}", bounds.text));
    }
    Some(time)
}

impl Clock {
    pub(super) fn merged(self, later: Self) -> Self {
        Self {
            part: self.part.merged(later.part),
            required: later.required.or(self.required),
            unsynchronised_after: later.unsynchronised_after.or(self.unsynchronised_after),
            offset: later.offset.or(self.offset),
            offset_clear: later.offset_clear.or(self.offset_clear),
            step: later.step.or(self.step),
        }
    }

    pub(super) fn resolved(self) -> ClockSettings {
        let usual = ClockSettings::default();
        let offset = self.offset.unwrap_or(usual.offset);
        ClockSettings {
            enabled: self.part.enabled.unwrap_or(usual.enabled),
            interval: self.part.interval.unwrap_or(usual.interval),
            required: self.required.unwrap_or(usual.required),
            unsynchronised_after: self.unsynchronised_after.unwrap_or(usual.unsynchronised_after),
            offset,
            // Two files may each be right and not fit together.
            offset_clear: self.offset_clear.filter(|clear| *clear < offset).unwrap_or(offset / 2),
            step: self.step.unwrap_or(usual.step),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::settings;

    fn parsed(text: &str) -> Result<ClockSettings, String> {
        let settings = settings::parse(Path::new("n.toml"), text);
        let messages = |diagnostics: Vec<nodewell_rules::Diagnostic>| {
            diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        settings.map(|settings| settings.checks.resolved().clock).map_err(messages)
    }

    #[test]
    fn every_key_arrives_and_nothing_said_is_the_default() {
        assert_eq!(parsed("[clock]\n").unwrap(), ClockSettings::default());
        let text = "[clock]\nenabled = false\ninterval = \"5s\"\nrequired = true\nunsynchronised-after = \"1h\"\n\
                    offset = \"20ms\"\nstep = \"5s\"\n";
        let expected = ClockSettings {
            enabled: false,
            interval: Duration::from_secs(5),
            required: true,
            unsynchronised_after: Duration::from_hours(1),
            offset: Duration::from_millis(20),
            offset_clear: Duration::from_millis(10),
            step: Duration::from_secs(5),
        };
        assert_eq!(parsed(text).unwrap(), expected);
    }

    #[test]
    fn errors_are_reported_with_their_lines() {
        let text = "[clock]\noffset = \"1m\"\noffset-clear = \"2m\"\nunsynchronised-after = \"200h\"\nstep = \"1ms\"\nntp = 1\n";
        let messages = parsed(text).unwrap_err();
        for line in 2..=6 {
            assert!(messages.contains(&format!("n.toml:{line}: ")), "{line} in {messages}");
        }
    }
}
