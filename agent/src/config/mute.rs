//! `[[mute]]`: problems that the configuration mutes until a date.

use jiff::Timestamp;
use nodewell_model::{Mute, MuteKey, Name, mute::WHY_LIMIT_BYTES, text::SUBJECT_LIMIT_BYTES};
use nodewell_printable::is_hidden;
use nodewell_settings::{ListedKey, ListedTable, Location, Report, Schema, Section, TableAt};

/// One `[[mute]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredMute {
    pub key: MuteKey,
    pub until: Timestamp,
    pub why: String,
    /// Where it stands.
    pub at: Location,
}

impl ConfiguredMute {
    /// The keys of the table.
    pub(super) fn listed() -> ListedTable {
        let keys = vec![
            ListedKey::camel_case("reason", "Problems with this reason do not turn their condition.").required(),
            ListedKey::camel_case("condition", "Only of this condition; if unset, of all."),
            ListedKey::new(
                "subject",
                &line(SUBJECT_LIMIT_BYTES),
                Schema::NOT_BLANK,
                "Only of this subject; if unset, of all.",
            ),
            // For editors a date is a string.
            ListedKey::new(
                "until",
                "a date and time with its zone",
                Schema::NOT_EMPTY,
                "Until then; a time that has passed is no error.",
            )
            .required(),
            ListedKey::new(
                "why",
                &line(WHY_LIMIT_BYTES),
                Schema::NOT_BLANK,
                "Why the problem may wait; shown with it.",
            )
            .required(),
        ];
        let about = "Problems that may wait, until a date: see nodewell-mute(1). Mutes add up, over all files.";
        ListedTable { name: "mute", about, keys }
    }

    /// One table; `None` where it has errors. A date that has passed is none: the mute is over.
    pub(super) fn read(table: TableAt<'_>, report: &mut Report<'_>) -> Option<Self> {
        let section = Section::new("[[mute]]", table, &Self::listed().names(), report);
        let reason = section.required_name("reason", report);
        let condition = condition(section, report);
        let subject = bounded(section, "subject", SUBJECT_LIMIT_BYTES, report);
        let until = until(section, report);
        if !section.has("why") {
            report.error(section.at, "[[mute]] lacks \"why\"; say why the problem may wait");
        }
        let why = bounded(section, "why", WHY_LIMIT_BYTES, report);
        let at = report.location(table.at);
        // Everything is read before anything is judged, so that all errors are reported at once.
        let key = MuteKey { reason: reason?, condition: condition.ok()?, subject: subject.ok()? };
        Some(Self { key, until: until?, why: why.ok()??, at })
    }

    pub(super) fn to_mute(&self) -> Mute {
        let Self { key, until, why, at } = self;
        Mute { key: key.clone(), until: *until, why: why.clone(), by: at.to_string(), configured: true }
    }
}

/// A value that has an error, which is reported.
struct Reported;

fn condition(section: Section<'_>, report: &mut Report<'_>) -> Result<Option<Name>, Reported> {
    if !section.has("condition") {
        return Ok(None);
    }
    section.required_name("condition", report).map(Some).ok_or(Reported)
}

/// A text that may be missing and is shown as it stands: not blank, on one line, of at most `limit_bytes`, all of it
/// seen.
fn bounded(
    section: Section<'_>,
    key: &'static str,
    limit_bytes: usize,
    report: &mut Report<'_>,
) -> Result<Option<String>, Reported> {
    if !section.has(key) {
        return Ok(None);
    }
    let word = section.written(key, report).ok_or(Reported)?;
    if word.text.len() > limit_bytes || word.text.contains(is_hidden) {
        report.error(word.at, format!("{key:?} takes {}", line(limit_bytes)));
        return Err(Reported);
    }
    Ok(Some(word.text.to_owned()))
}

/// What such a text is.
fn line(limit_bytes: usize) -> String {
    format!("one line of at most {limit_bytes} bytes, without control or invisible characters")
}

/// A date of TOML's own or a string; both name their zone.
fn until(section: Section<'_>, report: &mut Report<'_>) -> Option<Timestamp> {
    let value = section.value("until");
    let text = match value.and_then(|value| value.get_ref().as_datetime()) {
        Some(datetime) => datetime.to_string(),
        None => section.required("until", report)?.text.to_owned(),
    };
    let parsed = text.parse().ok();
    if parsed.is_none() {
        let example = "2026-12-31T18:00:00Z or 2026-12-31T18:00:00+01:00";
        let error = format!("\"until\" takes a time with its zone such as {example}, not {text:?}");
        report.error(section.position("until"), error);
    }
    parsed
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::config::{Config, Flags};

    fn read(text: &str) -> Result<Config, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("nodewell.toml");
        fs::write(&file, text).unwrap();
        let flags = Flags { config: Some(file), ..Flags::default() };
        Config::load(&flags)
            .map_err(|errors| errors.iter().map(|error| error.message.clone()).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn a_mute_is_read_with_both_kinds_of_dates() {
        let text = "[[mute]]\nreason = \"IOError\"\nsubject = \"sda\"\nuntil = 2026-12-01T08:00:00Z\nwhy = \"on order\"\n\
                    [[mute]]\nreason = \"Ntp\"\ncondition = \"ClockUnhealthy\"\nuntil = \"1999-12-01T08:00:00+01:00\"\nwhy = \"w\"\n";
        let config = read(text).unwrap();
        let mutes = config.active_mutes();
        assert_eq!(mutes[0].key.to_string(), "IOError on sda");
        assert_eq!(mutes[0].until.to_string(), "2026-12-01T08:00:00Z");
        assert!(mutes[0].by.ends_with("nodewell.toml:1") && mutes[0].configured, "{mutes:?}");
        assert_eq!(mutes[1].until.to_string(), "1999-12-01T07:00:00Z", "what is over is no error");
    }

    #[test]
    fn every_mistake_is_named() {
        let of = |text: &str| read(&format!("[[mute]]\n{text}")).unwrap_err();
        let all = of("until = \"tomorrow\"\nsubject = \" \"\n");
        for part in ["lacks \"reason\"", "lacks \"why\"", "a time with its zone", "\"subject\" must not be empty"] {
            assert!(all.contains(part), "{part} in {all}");
        }
        assert!(of("reason = \"A\"\nwhy = \"w\"\n").contains("lacks \"until\""));
        assert!(of("reason = \"A\"\nuntil = 2026-12-01\nwhy = \"w\"\n").contains("a time with its zone"));
        let two_lines = of("reason = \"A\"\nuntil = 2026-12-01T08:00:00Z\nwhy = \"a\\nb\"\n");
        assert!(two_lines.contains("\"why\" takes one line"), "{two_lines}");
        for hidden in ["\u{202e}", "\u{200b}", "\u{2028}"] {
            let mute = |subject: &str, why: &str| {
                of(&format!("reason = \"A\"\nsubject = \"{subject}\"\nuntil = 2026-12-01T08:00:00Z\nwhy = \"{why}\"\n"))
            };
            let why = mute("sda", &format!("a{hidden}b"));
            assert!(why.contains("\"why\" takes one line of at most"), "{why}");
            let subject = mute(&format!("sd{hidden}a"), "w");
            assert!(
                subject.contains("\"subject\" takes one line of at most 256 bytes, without control or invisible"),
                "{subject}"
            );
        }
        assert!(of("resaon = \"A\"\n").contains("unknown key \"resaon\""));
    }
}
