//! `[[repair.unit]]`: one unit that may be repaired, as the operator writes it.

use std::{ops::RangeInclusive, time::Duration};

use nodewell_model::Name;
use nodewell_settings::{
    Kind, ListedKey, ListedTable, Report, Schema, Section, StringAt, TableAt,
    kind::{Number, Strings, Time, quoted},
};

use super::settings::{RepairMethod, Signal, UnitRepair};

/// Without these, no process is left to repair anything, or to report it.
const UNTOUCHABLE: [&str; 5] = ["nodewell", "dbus", "systemd-", "init.", "user@"];
const WINDOWS: Time = Time::from(Duration::from_mins(1)).to(Duration::from_hours(30 * 24));
const ATTEMPTS: RangeInclusive<u32> = 1..=100;
const RESTART: &str = "restart";

impl UnitRepair {
    /// The keys of the table.
    #[must_use]
    pub fn listed() -> ListedTable {
        let signals = || Signal::ALL.map(Signal::as_str);
        let usual = Self::of("", Name::fixed("Missing"));
        let shown = |duration: Duration| Time::ANY.shown(&duration);
        let keys = vec![
            ListedKey::new(
                "unit",
                "a service's whole name",
                Schema::Text(r"\.service$"),
                "What is repaired: never a unit of nodewell, D-Bus or systemd.",
            )
            .required(),
            ListedKey::camel_case("condition", "It is repaired while this condition is True.").required(),
            ListedKey::camel_cases("reasons", "Only for these reasons; if unset, for any."),
            ListedKey::new(
                "sources",
                "a list of strings",
                Schema::strings(Schema::NOT_EMPTY, 1..=usize::MAX),
                "Whose reports count, as `nodewell status` shows them: a right to report is none to restart.",
            )
            .usual(Strings.shown(&usual.sources)),
            ListedKey::word(
                "way",
                std::iter::once(RESTART).chain(signals()).collect(),
                "A restart, or a signal to its main process, which the unit's own Restart= brings back.",
            )
            .usual(Some(quoted(RESTART))),
            ListedKey::word(
                "dump",
                signals().to_vec(),
                "A signal that is sent 2 s before, so that it writes down what it is doing.",
            ),
            ListedKey::of(
                "for",
                &Time::ANY,
                "The helper itself must have seen the problem for so long, without a break.",
            )
            .usual(shown(usual.for_duration)),
            ListedKey::of("cooldown", &Time::ANY, "Between two repairs of the unit; it doubles with each further one.")
                .usual(shown(usual.cooldown)),
            ListedKey::of("max-attempts", &Number(ATTEMPTS), "Repairs within window; then it gives up.")
                .usual(Number(ATTEMPTS).shown(&usual.max_attempts)),
            ListedKey::of("window", &WINDOWS, "For how long a repair counts.").usual(shown(usual.window)),
        ];
        let about = "A unit that may be repaired. The first one takes the place of the usual list: containerd, CRI-O, \
                     Docker and the kubelet, each for the reason of our own check.";
        ListedTable { name: "repair.unit", about, keys }
    }
}

/// One table; `None` where it has errors.
pub(super) fn read(table: TableAt<'_>, report: &mut Report<'_>) -> Option<UnitRepair> {
    let before = report.count();
    let section = Section::new("[[repair.unit]]", table, &UnitRepair::listed().names(), report);
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
        reasons: section.list("reasons", report).into_iter().filter_map(|word| named(word, report)).collect(),
        sources: sources(section, report).unwrap_or(usual.sources.clone()),
        way: way(section, report).unwrap_or(usual.way),
        dump: section.string("dump", report).and_then(|word| signal(word, report)),
        for_duration: section.duration("for", report).unwrap_or(usual.for_duration),
        cooldown: section.duration("cooldown", report).unwrap_or(usual.cooldown),
        max_attempts: section.number("max-attempts", ATTEMPTS, report).unwrap_or(usual.max_attempts),
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
    section.has("sources").then(|| section.list("sources", report).iter().map(|word| word.text.to_owned()).collect())
}

/// `"restart"`, or a signal for its main process.
fn way(section: Section<'_>, report: &mut Report<'_>) -> Option<RepairMethod> {
    let word = section.string("way", report)?;
    if word.text == RESTART {
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
