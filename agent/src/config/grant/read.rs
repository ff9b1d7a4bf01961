//! `[[grant]]`: which other users may report what. Users and groups are looked up here, so that a wrong name is an
//! error with its line and not a grant that never works.

use std::ops::RangeInclusive;

use nix::unistd::{Group, User};
use nodewell_ledger::OnStale;
use nodewell_model::Name;
use nodewell_settings::{
    Kind, ListedKey, ListedTable, Report, Schema, Section, TableAt,
    kind::{Bool, Choice, Number},
};

use super::{Grant, Grantee, Types};
use crate::config::rate::{BURSTS, Rate};

const WHO: [&str; 3] = ["unit", "user", "group"];
/// The highest number is no user: the kernel takes it for "leave as it is".
const IDS: RangeInclusive<u32> = 0..=u32::MAX - 1;
const ON_STALE: Choice<OnStale> = Choice(&[("keep", OnStale::Keep), ("clear", OnStale::Clear)]);

/// Its keys.
pub(super) fn listed() -> ListedTable {
    let id = || Schema::AnyOf(vec![Number(IDS).schema(), Schema::NOT_EMPTY]);
    let keys = vec![
        ListedKey::new(
            "unit",
            "a unit's whole name that ends in .service or .scope",
            Schema::Text(r"\.(service|scope)$"),
            "Who may report: a unit of the host's systemd.",
        ),
        ListedKey::new("user", "a name or a number", id(), "Who may report: a user."),
        ListedKey::new("group", "a name or a number", id(), "Who may report: the members of a group."),
        ListedKey::camel_cases("conditions", "Types of conditions that it may report."),
        ListedKey::camel_cases("reasons", "Only these, where a condition is True and in events; if unset, all."),
        ListedKey::of("events", &Bool, "Whether it may report events.").usual(Bool.shown(&false)),
        ListedKey::camel_cases("clear", "Conditions that it may end, whichever source claims them."),
        ListedKey::of("rate", &Rate, "Its reports; if unset, the rate of [socket]."),
        ListedKey::of(
            "burst",
            &Number(BURSTS),
            "Of them at once; if unset, two seconds of its rate, and the socket's at least.",
        ),
        ListedKey::of(
            "on-stale",
            &ON_STALE,
            "When it goes silent its problems stay unconfirmed (\"keep\"), or end (\"clear\").",
        )
        .usual(ON_STALE.shown(&OnStale::default())),
    ];
    let about =
        "Who may report beside root, and what: exactly one of unit, user and group. Grants add up, over all files.";
    ListedTable { name: "grant", about, keys }
}

/// One table; `None` where it has errors.
pub(super) fn read(table: TableAt<'_>, report: &mut Report<'_>) -> Option<Grant> {
    let before = report.count();
    let section = Section::new("[[grant]]", table, &listed().names(), report);
    let to = grantee(section, report);
    let conditions = types(section, "conditions", report);
    let reasons = section.has("reasons").then(|| names(section, "reasons", report));
    let events = section.boolean("events", report).unwrap_or(false);
    let clear = types(section, "clear", report);
    let interval = section.has("rate").then(|| Rate.read(section, "rate", report)).flatten();
    let burst = section.number("burst", BURSTS, report);
    let on_stale = ON_STALE.read(section, "on-stale", report);
    if report.count() == before && gives_nothing(section) {
        report.error(table.at, "[[grant]] gives nothing; add \"conditions\", \"events\" or \"clear\"");
    }
    let at = report.location(table.at);
    // Everything is read before anything is judged, so that all errors are reported at once.
    let to = to.filter(|_| report.count() == before)?;
    let written = written(section, &to);
    Some(Grant { to, written, conditions, reasons, events, clear, interval, burst, on_stale, at })
}

fn gives_nothing(section: Section<'_>) -> bool {
    !listed().names().iter().any(|key| !WHO.contains(key) && section.has(key))
}

fn grantee(section: Section<'_>, report: &mut Report<'_>) -> Option<Grantee> {
    let present: Vec<&str> = WHO.into_iter().filter(|key| section.has(key)).collect();
    match present.as_slice() {
        ["unit"] => unit(section, report),
        ["user"] => {
            let find = |name: &str| User::from_name(name).map(|found| found.map(|user| user.uid.as_raw()));
            id(section, "user", find, report).map(Grantee::User)
        }
        ["group"] => {
            let find = |name: &str| Group::from_name(name).map(|found| found.map(|group| group.gid.as_raw()));
            id(section, "group", find, report).map(Grantee::Group)
        }
        _ => {
            report.error(section.at, "[[grant]] takes exactly one of \"unit\", \"user\" and \"group\"");
            None
        }
    }
}

/// As the file has it; a number as such has no other form.
fn written(section: Section<'_>, to: &Grantee) -> String {
    let text = |key: &str| Some(format!("{key} {}", section.value(key)?.get_ref().as_str()?));
    WHO.into_iter().find_map(text).unwrap_or_else(|| format!("{to:?}"))
}

fn unit(section: Section<'_>, report: &mut Report<'_>) -> Option<Grantee> {
    let word = section.required("unit", report)?;
    let is_name = (word.text.ends_with(".service") || word.text.ends_with(".scope")) && !word.text.contains('/');
    if !is_name {
        let error = format!("\"unit\" takes a unit's whole name such as raid-monitor.service, not {:?}", word.text);
        report.error(word.at, error);
    }
    is_name.then(|| Grantee::Unit(word.text.to_owned()))
}

/// A number, as such or as a string, or a name of this host.
fn id(
    section: Section<'_>,
    key: &'static str,
    find: impl FnOnce(&str) -> nix::Result<Option<u32>>,
    report: &mut Report<'_>,
) -> Option<u32> {
    if section.value(key)?.get_ref().is_integer() {
        return section.number(key, IDS, report);
    }
    let word = section.required(key, report)?;
    if let Ok(number) = word.text.parse() {
        return Some(number);
    }
    match find(word.text) {
        Ok(Some(number)) => return Some(number),
        Ok(None) => report.error(
            word.at,
            format!("{key:?}: there is no {key} {:?} on this host; create it first, or write a number", word.text),
        ),
        Err(error) => report.error(word.at, format!("{key:?}: cannot look up {:?}: {error}", word.text)),
    }
    None
}

fn types(section: Section<'_>, key: &str, report: &mut Report<'_>) -> Types {
    Types::Only(names(section, key, report))
}

fn names(section: Section<'_>, key: &str, report: &mut Report<'_>) -> Vec<Name> {
    let names = section.list(key, report);
    let checked = names.into_iter().filter_map(|word| match Name::new(word.text) {
        Ok(name) => Some(name),
        Err(error) => {
            report.error(word.at, format!("{key:?}: {error}"));
            None
        }
    });
    checked.collect()
}
