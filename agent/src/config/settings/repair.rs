//! `[repair]` and `[[repair.unit]]`: which units may be restarted, for what, and how often.

use std::time::Duration;

use nodewell_checks::repair::{RepairMethod, RepairSettings, UnitRepair, settings::Signal};
use nodewell_model::Name;
use nodewell_rules::document::{Report, Section, StringAt, TableAt, tables};

const KEYS: &[&str] =
    &["unit", "condition", "reasons", "sources", "way", "dump", "for", "cooldown", "max-attempts", "window"];
/// Without these, no process is left to repair anything, or to report it.
const UNTOUCHABLE: [&str; 5] = ["nodewell", "dbus", "systemd-", "init.", "user@"];
const SHORTEST_WINDOW: Duration = Duration::from_mins(1);
const LONGEST_WINDOW: Duration = Duration::from_hours(30 * 24);

/// What one file or the flags set; `None` where a key is not set.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RepairPart {
    enabled: Option<bool>,
    grace_after_boot: Option<Duration>,
    min_interval: Option<Duration>,
    /// Of all files together. Any replaces the built-in ones.
    units: Vec<UnitRepair>,
}

pub(super) fn read(file: Section<'_>, report: &mut Report<'_>) -> RepairPart {
    let Some(table) = file.table("repair", report) else { return RepairPart::default() };
    let section = Section::new("[repair]", table, &["enabled", "grace-after-boot", "min-interval", "unit"], report);
    RepairPart {
        enabled: section.boolean("enabled", report),
        grace_after_boot: section.duration("grace-after-boot", report),
        min_interval: section.duration("min-interval", report),
        units: tables(section, "unit", report).into_iter().filter_map(|table| unit(table, report)).collect(),
    }
}

fn unit(table: TableAt<'_>, report: &mut Report<'_>) -> Option<UnitRepair> {
    let before = report.count();
    let section = Section::new("[[repair.unit]]", table, KEYS, report);
    let name = section.required("unit", report);
    if let Some(word) = &name
        && let Some(wrong) = wrong_unit(word.text)
    {
        report.error(word.at, wrong);
    }
    let condition = section.required("condition", report).and_then(|word| named(word, report));
    let usual = UnitRepair::of(name.map_or("", |word| word.text), condition.unwrap_or(Name::fixed("Missing")));
    let read = UnitRepair {
        reasons: section.strings("reasons", report).into_iter().filter_map(|word| named(word, report)).collect(),
        sources: sources(section, report).unwrap_or(usual.sources.clone()),
        way: way(section, report).unwrap_or(usual.way),
        dump: section.string("dump", report).and_then(|word| signal(word, report)),
        for_duration: section.duration("for", report).unwrap_or(usual.for_duration),
        cooldown: section.duration("cooldown", report).unwrap_or(usual.cooldown),
        max_attempts: section.number("max-attempts", 1..=100, report).unwrap_or(usual.max_attempts),
        window: window(section, report).unwrap_or(usual.window),
        ..usual
    };
    if report.count() == before && read.cooldown > read.window {
        report.error(
            section.position("cooldown"),
            "\"cooldown\" is longer than \"window\": they would never count together",
        );
    }
    // Everything is read before anything is given up, so that all errors are reported at once.
    (report.count() == before).then_some(read)
}

fn wrong_unit(name: &str) -> Option<String> {
    if !name.ends_with(".service") || name.contains('/') || name.contains('*') {
        return Some(format!("\"unit\" takes a service's whole name such as containerd.service, not {name:?}"));
    }
    let is_needed = UNTOUCHABLE.iter().any(|start| name.starts_with(start));
    is_needed.then(|| format!("{name} is needed for the repair itself; it is never restarted"))
}

fn named(name: StringAt<'_>, report: &mut Report<'_>) -> Option<Name> {
    Name::new(name.text).inspect_err(|error| report.error(name.at, error.to_string())).ok()
}

fn sources(section: Section<'_>, report: &mut Report<'_>) -> Option<Vec<String>> {
    section.has("sources").then(|| section.strings("sources", report).iter().map(|word| word.text.to_owned()).collect())
}

/// `"restart"`, or a signal for its main process.
fn way(section: Section<'_>, report: &mut Report<'_>) -> Option<RepairMethod> {
    let word = section.string("way", report)?;
    if word.text == "restart" {
        return Some(RepairMethod::Restart);
    }
    signal(word, report).map(RepairMethod::Kill)
}

fn signal(name: StringAt<'_>, report: &mut Report<'_>) -> Option<Signal> {
    let known = Signal::named(name.text);
    if known.is_none() {
        let all = Signal::ALL.map(Signal::as_str).join(", ");
        report.error(name.at, format!("{:?} is none of {all}", name.text));
    }
    known
}

fn window(section: Section<'_>, report: &mut Report<'_>) -> Option<Duration> {
    let window = section.duration("window", report)?;
    if !(SHORTEST_WINDOW..=LONGEST_WINDOW).contains(&window) {
        report.error(section.position("window"), "\"window\" is from 1m to 30 days (720h)");
    }
    Some(window)
}

impl RepairPart {
    /// Both merged; `later` overrides.
    pub(super) fn merged(self, later: Self) -> Self {
        Self {
            enabled: later.enabled.or(self.enabled),
            grace_after_boot: later.grace_after_boot.or(self.grace_after_boot),
            min_interval: later.min_interval.or(self.min_interval),
            units: [self.units, later.units].concat(),
        }
    }

    pub(in crate::config) fn resolved(self) -> RepairSettings {
        let usual = RepairSettings::default();
        RepairSettings {
            enabled: self.enabled.unwrap_or(usual.enabled),
            grace_after_boot: self.grace_after_boot.unwrap_or(usual.grace_after_boot),
            min_interval: self.min_interval.unwrap_or(usual.min_interval),
            units: if self.units.is_empty() { usual.units } else { self.units },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::parse;

    fn diagnostics(text: &str) -> Vec<String> {
        let found = parse(Path::new("n.toml"), text).unwrap_err();
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn units_are_read_and_take_the_place_of_the_usual_ones() {
        let text = r#"
            [repair]
            enabled = true
            [[repair.unit]]
            unit = "kubelet.service"
            condition = "KubeletUnhealthy"
            way = "SIGTERM"
            dump = "SIGUSR1"
            max-attempts = 2
        "#;
        let resolved = parse(Path::new("n.toml"), text).unwrap().repair.resolved();
        assert!(resolved.enabled);
        assert_eq!(resolved.units.len(), 1);
        assert_eq!((resolved.units[0].unit.as_str(), resolved.units[0].max_attempts), ("kubelet.service", 2));
    }

    #[test]
    fn every_error_is_reported_with_its_line() {
        let text = "[[repair.unit]]\nunit = \"dbus.service\"\ncondition = \"A\"\nway = \"SIGSEGV\"\n[[repair.unit]]\nunit = \"kube*\"\nwindow = \"1s\"";
        let messages = diagnostics(text);
        let has = |text: &str| assert!(messages.iter().any(|line| line.contains(text)), "{text}: {messages:#?}");
        has("n.toml:2: dbus.service is needed for the repair itself");
        has("n.toml:4: \"SIGSEGV\" is none of SIGABRT");
        has("n.toml:6: \"unit\" takes a service's whole name");
        has("\"condition\"");
        has("n.toml:7: \"window\" is from 1m");
    }
}
