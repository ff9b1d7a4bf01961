//! `[[repair.unit]]`: one unit that may be repaired, as the operator writes it.

use std::time::Duration;

use nodewell_model::Name;
use nodewell_settings::{Kind, Report, Section, StringAt, TableAt, kind::Time};

use super::settings::{RepairMethod, Signal, UnitRepair};

const KEYS: &[&str] =
    &["unit", "condition", "reasons", "sources", "way", "dump", "for", "cooldown", "max-attempts", "window"];
/// Without these, no process is left to repair anything, or to report it.
const UNTOUCHABLE: [&str; 5] = ["nodewell", "dbus", "systemd-", "init.", "user@"];
const WINDOWS: Time = Time::from(Duration::from_mins(1)).to(Duration::from_hours(30 * 24));

/// One table; `None` where it has errors.
pub(super) fn read(table: TableAt<'_>, report: &mut Report<'_>) -> Option<UnitRepair> {
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
    let window = section.has("window").then(|| WINDOWS.read(section, "window", report)).flatten();
    let read = UnitRepair {
        reasons: section.strings("reasons", report).into_iter().filter_map(|word| named(word, report)).collect(),
        sources: sources(section, report).unwrap_or(usual.sources.clone()),
        way: way(section, report).unwrap_or(usual.way),
        dump: section.string("dump", report).and_then(|word| signal(word, report)),
        for_duration: section.duration("for", report).unwrap_or(usual.for_duration),
        cooldown: section.duration("cooldown", report).unwrap_or(usual.cooldown),
        max_attempts: section.number("max-attempts", 1..=100, report).unwrap_or(usual.max_attempts),
        window: window.unwrap_or(usual.window),
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
