//! `[mounts]`: which filesystems are asked, and when one is as good as full.

use std::{ops::RangeInclusive, time::Duration};

use nodewell_checks::settings::{MountsSettings, Threshold};
use nodewell_rules::document::{Report, Section};

use super::{Part, part};
use crate::config::settings::hardware::globs;

const KEYS: [&str; 9] = [
    "enabled",
    "interval",
    "deadline",
    "ignore",
    "space-percent",
    "space-clear-percent",
    "space-enough-gib",
    "inodes-percent",
    "inodes-clear-percent",
];
/// Below a second a server that is only busy would be reported; a minute is as long as a round.
const DEADLINES: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_mins(1);
/// A pebibyte is more free space than any operator requires.
const GIB: RangeInclusive<u32> = 0..=1 << 20;
/// Percent between full and well again, where only the first is set.
const GAP: u32 = 5;

/// What one file or the flags set; `None` where a key is not set.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Mounts {
    part: Part,
    deadline: Option<Duration>,
    ignore: Option<Vec<String>>,
    space: Percents,
    space_enough_gib: Option<u32>,
    inodes: Percents,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Percents {
    full: Option<u32>,
    clear: Option<u32>,
}

pub(super) fn read(file: Section<'_>, report: &mut Report<'_>) -> Mounts {
    let Some(table) = file.table("mounts", report) else { return Mounts::default() };
    let section = Section::new("[mounts]", table, &KEYS, report);
    let deadline = section.duration("deadline", report);
    if deadline.is_some_and(|deadline| !DEADLINES.contains(&deadline)) {
        report.error(section.position("deadline"), "\"deadline\" is from 1s to 1m");
    }
    Mounts {
        part: part(section, report),
        deadline,
        ignore: globs(section, report),
        space: percents(section, "space-percent", "space-clear-percent", report),
        space_enough_gib: section.number("space-enough-gib", GIB, report),
        inodes: percents(section, "inodes-percent", "inodes-clear-percent", report),
    }
}

fn percents(section: Section<'_>, full: &str, clear: &str, report: &mut Report<'_>) -> Percents {
    let settings =
        Percents { full: section.number(full, 1..=100, report), clear: section.number(clear, 0..=99, report) };
    if settings.full.zip(settings.clear).is_some_and(|(full, clear)| clear >= full) {
        report.error(section.position(clear), format!("{clear:?} has to be below {full:?}"));
    }
    settings
}

impl Mounts {
    pub(super) fn merged(self, later: Self) -> Self {
        Self {
            part: self.part.merged(later.part),
            deadline: later.deadline.or(self.deadline),
            ignore: later.ignore.or(self.ignore),
            space: self.space.merged(later.space),
            space_enough_gib: later.space_enough_gib.or(self.space_enough_gib),
            inodes: self.inodes.merged(later.inodes),
        }
    }

    pub(super) fn resolved(self) -> MountsSettings {
        let usual = MountsSettings::default();
        let enough = self.space_enough_gib.map(|gib| u64::from(gib) << 30);
        MountsSettings {
            enabled: self.part.enabled.unwrap_or(usual.enabled),
            interval: self.part.interval.unwrap_or(usual.interval),
            deadline: self.deadline.unwrap_or(usual.deadline),
            ignore: self.ignore.unwrap_or(usual.ignore),
            space: self.space.resolved(usual.space),
            space_enough_bytes: enough.unwrap_or(usual.space_enough_bytes),
            inodes: self.inodes.resolved(usual.inodes),
            fstab: usual.fstab,
        }
    }
}

impl Percents {
    fn merged(self, later: Self) -> Self {
        Self { full: later.full.or(self.full), clear: later.clear.or(self.clear) }
    }

    /// Two files may each be right and not fit together.
    fn resolved(self, usual: Threshold) -> Threshold {
        let percent = self.full.unwrap_or(usual.percent);
        let clear_percent = self.clear.unwrap_or(percent.saturating_sub(GAP)).min(percent.saturating_sub(1));
        Threshold { percent, clear_percent }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::settings;

    fn parsed(text: &str) -> Result<MountsSettings, String> {
        let settings = settings::parse(Path::new("n.toml"), text);
        let messages = |diagnostics: Vec<nodewell_rules::Diagnostic>| {
            diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        settings.map(|settings| settings.checks.resolved().mounts).map_err(messages)
    }

    #[test]
    fn every_key_arrives_and_nothing_said_is_the_default() {
        assert_eq!(parsed("[mounts]\n").unwrap(), MountsSettings::default());
        let text = "[mounts]\nenabled = false\ninterval = \"5s\"\ndeadline = \"3s\"\nignore = [\"/scratch*\"]\n\
                    space-percent = 95\nspace-clear-percent = 80\nspace-enough-gib = 2\ninodes-percent = 70\n";
        let expected = MountsSettings {
            enabled: false,
            interval: Duration::from_secs(5),
            deadline: Duration::from_secs(3),
            ignore: vec!["/scratch*".to_owned()],
            space: Threshold { percent: 95, clear_percent: 80 },
            space_enough_bytes: 2 << 30,
            inodes: Threshold { percent: 70, clear_percent: 65 },
            ..MountsSettings::default()
        };
        assert_eq!(parsed(text).unwrap(), expected);
    }

    #[test]
    fn errors_are_reported_with_their_lines() {
        let text = "[mounts]\ndeadline = \"2h\"\nspace-percent = 80\nspace-clear-percent = 80\ninodes-percent = 101\n\
                    ignore = [\"a**b\"]\nfull = 1\n";
        let messages = parsed(text).unwrap_err();
        for line in [
            "n.toml:2: ",
            "n.toml:4: \"space-clear-percent\" has to be below",
            "n.toml:5: ",
            "n.toml:6: ",
            "n.toml:7: ",
        ] {
            assert!(messages.contains(line), "{line} in {messages}");
        }
    }

    #[test]
    fn files_that_do_not_fit_together_leave_a_gap() {
        let read = |text| settings::parse(Path::new("n.toml"), text).unwrap();
        let both = read("[mounts]\nspace-clear-percent = 80\n").merged(read("[mounts]\nspace-percent = 70\n"));
        assert_eq!(both.checks.resolved().mounts.space, Threshold { percent: 70, clear_percent: 69 });
    }
}
