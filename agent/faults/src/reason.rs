//! The catalogue of reasons that monitors of hardware and checks give: what each means, how sure it is, what to do.

use std::{collections::BTreeMap, sync::LazyLock};

use nodewell_model::{Action, Name, Severity};
use serde::{Deserialize, Serialize, de::IgnoredAny};

use crate::catalogue::{FILES, NAMES, Span};

/// One reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    pub name: Name,
    /// The condition that it holds True; `None`: an Event only.
    #[serde(default)]
    pub condition: Option<Name>,
    pub severity: Severity,
    pub action: Action,
    /// How sure it is: the source of the report, and when it may be wrong.
    pub sure: String,
    /// What it means.
    pub meaning: String,
    /// What to do.
    pub advice: String,
    /// When the problem ends; empty for Events.
    #[serde(default)]
    pub ends: String,
    /// Where the fact comes from: a specification, a kernel file.
    pub source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    reason: Vec<Reason>,
    /// For [`crate::message`].
    #[serde(default, rename = "message")]
    _message: IgnoredAny,
    #[serde(default, rename = "reasons")]
    _reasons: IgnoredAny,
}

/// What programs go by: how bad a reason is. The rest of it is for people, and in no daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownReason {
    pub name: &'static str,
    /// The condition that it holds True; `None`: an Event only.
    pub condition: Option<&'static str>,
    pub severity: Severity,
    pub action: Action,
}

/// The same in the program.
struct Judged {
    /// Of its name and its condition, which is empty for an Event.
    place: Span,
    severity: Severity,
    action: Action,
}

/// Every reason by name, as part of the program: what judges all day neither parses files nor holds their prose.
static JUDGED: &[Judged] = include!(concat!(env!("OUT_DIR"), "/reasons.rs"));
static TEXTS: &str = include!(concat!(env!("OUT_DIR"), "/reasons_texts.rs"));

/// The reason of that name.
#[must_use]
pub fn named(name: &str) -> Option<KnownReason> {
    let found = JUDGED.binary_search_by(|judged| judged.place.texts(TEXTS).0.cmp(name)).ok()?;
    let Judged { place, severity, action } = &JUDGED[found];
    let (name, condition) = place.texts(TEXTS);
    let condition = Some(condition).filter(|condition| !condition.is_empty());
    Some(KnownReason { name, condition, severity: *severity, action: *action })
}

/// All reasons with what people read of them, in the order of their files.
#[must_use]
pub fn all() -> &'static [Reason] {
    static ALL: LazyLock<Vec<Reason>> = LazyLock::new(|| FILES.iter().flat_map(|text| read(text)).collect());
    &ALL
}

/// The same with the name of the check that gives each, which is that of its file.
pub fn by_check() -> impl Iterator<Item = (&'static str, Reason)> {
    let files = NAMES.iter().zip(FILES);
    files.flat_map(|(check, text)| read(text).into_iter().map(move |reason| (*check, reason)))
}

/// The check that gives the reason of that name.
#[must_use]
pub fn check_of(name: &Name) -> Option<&'static str> {
    static CHECKS: LazyLock<BTreeMap<Name, &'static str>> =
        LazyLock::new(|| by_check().map(|(check, reason)| (reason.name, check)).collect());
    CHECKS.get(name).copied()
}

fn read(text: &str) -> Vec<Reason> {
    // The files are part of the program; a test reads them.
    toml::from_str::<File>(text).map(|file| file.reason).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_file_is_read_and_no_reason_stands_twice() {
        for text in FILES {
            toml::from_str::<File>(text).unwrap();
        }
        let names: BTreeSet<_> = all().iter().map(|reason| &reason.name).collect();
        assert_eq!(names.len(), all().len());
    }

    #[test]
    fn the_program_knows_what_the_files_say() {
        assert_eq!(JUDGED.len(), all().len());
        for reason in all() {
            let Reason { name, condition, severity, action, .. } = reason;
            let (name, condition) = (name.as_str(), condition.as_ref().map(Name::as_str));
            let known = named(name).unwrap();
            assert_eq!((known.name, known.condition), (name, condition));
            assert_eq!((known.severity, known.action), (*severity, *action), "{name}");
            assert_eq!(named(&name[1..]), None, "{name}");
        }
    }

    #[test]
    fn what_holds_a_condition_names_its_end() {
        for reason in all() {
            assert_eq!(reason.condition.is_some(), !reason.ends.is_empty(), "{}", reason.name);
            for words in [&reason.sure, &reason.meaning, &reason.advice, &reason.source] {
                assert!(!words.is_empty(), "{}", reason.name);
            }
        }
    }
}
