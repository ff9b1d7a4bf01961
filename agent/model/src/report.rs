//! What a report may contain: the checks that its JSON shape cannot make, each naming the field and what it takes.

use std::collections::BTreeMap;

use nodewell_printable::{is_hidden, selects_a_form};

use crate::{
    Condition, ConditionStatus, DeviceFacts, Event, Hardware, Status,
    text::{SUBJECT_LIMIT_BYTES, cut},
};

/// How long a daemon's report holds if it sets no `ttl`.
pub const DEFAULT_TTL_SECS: u64 = 180;
/// The longest time that a daemon's report may hold: a day.
pub const TTL_LIMIT_SECS: u64 = 86_400;
/// The longest time that conditions may stay after a daemon's last report: an hour.
pub const LINGER_LIMIT_SECS: u64 = 3_600;
/// The longest `id`, in bytes.
pub const ID_LIMIT_BYTES: usize = 128;
/// The longest `source`, in bytes.
pub const SOURCE_LIMIT_BYTES: usize = 64;
/// Classes of devices that one daemon may count: more than there are kinds of hardware.
pub const CLASSES_LIMIT: usize = 16;
/// States that devices of one class may be in.
pub const STATES_LIMIT: usize = 16;
/// Devices of one class that a daemon may describe.
pub const DEVICES_LIMIT: usize = 64;
/// The longest name, model or version of a device, in bytes.
pub const FACT_LIMIT_BYTES: usize = 64;
/// The longest name of a class or a state, in bytes: a column of `nodewell status`.
pub const WORD_LIMIT_BYTES: usize = 32;

/// A field with a value that it must not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("field `{field}` {problem}")]
pub struct Invalid {
    /// Within the report, such as `conditions[0].subject`.
    pub field: String,
    /// What it takes, and what it was.
    pub problem: String,
}

impl Invalid {
    fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into() }
    }
}

impl Status {
    /// How long this report holds; `None`: until the daemon sends another one.
    #[must_use]
    pub fn ttl(&self) -> Option<std::time::Duration> {
        let secs = self.ttl_secs.unwrap_or(DEFAULT_TTL_SECS);
        (secs > 0).then(|| std::time::Duration::from_secs(secs))
    }

    /// For how long conditions stay after this last report; `None`: they go at once.
    #[must_use]
    pub fn linger(&self) -> Option<std::time::Duration> {
        self.linger_secs.filter(|secs| self.last && *secs > 0).map(std::time::Duration::from_secs)
    }

    /// The first field with a value that it must not have.
    pub fn check(&self) -> Result<(), Invalid> {
        self.check_source()?;
        self.check_ttl()?;
        self.check_linger()?;
        self.check_id()?;
        for (n, event) in self.events.iter().enumerate() {
            event.check().map_err(|problem| Invalid::new(format!("events[{n}].subject"), problem))?;
        }
        for (n, condition) in self.conditions.iter().enumerate() {
            condition.check().map_err(|problem| Invalid::new(format!("conditions[{n}].subject"), problem))?;
        }
        self.check_twins()?;
        self.check_hardware()
    }

    fn check_source(&self) -> Result<(), Invalid> {
        let word = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if (1..=SOURCE_LIMIT_BYTES).contains(&self.source.len()) && self.source.bytes().all(word) {
            return Ok(());
        }
        let given = cut(&self.source, SOURCE_LIMIT_BYTES);
        let takes = format!("takes 1 to {SOURCE_LIMIT_BYTES} letters, digits and any of `._-`, not {given:?}");
        Err(Invalid::new("source", takes))
    }

    fn check_ttl(&self) -> Result<(), Invalid> {
        match self.ttl_secs {
            Some(secs) if secs > TTL_LIMIT_SECS => {
                Err(Invalid::new("ttl", format!("takes 0 to {TTL_LIMIT_SECS} seconds, not {secs}")))
            }
            _ => Ok(()),
        }
    }

    fn check_linger(&self) -> Result<(), Invalid> {
        match self.linger_secs {
            Some(secs) if secs > LINGER_LIMIT_SECS => {
                Err(Invalid::new("linger", format!("takes 0 to {LINGER_LIMIT_SECS} seconds, not {secs}")))
            }
            Some(_) if !self.last => {
                Err(Invalid::new("linger", "goes with `last` only; how long others hold is `ttl`"))
            }
            _ => Ok(()),
        }
    }

    fn check_id(&self) -> Result<(), Invalid> {
        match self.id.as_ref().map(String::len) {
            Some(length) if !(1..=ID_LIMIT_BYTES).contains(&length) => {
                Err(Invalid::new("id", format!("takes 1 to {ID_LIMIT_BYTES} bytes, not {length}")))
            }
            _ => Ok(()),
        }
    }

    fn check_hardware(&self) -> Result<(), Invalid> {
        let Some(hardware) = &self.hardware else { return Ok(()) };
        if hardware.len() > CLASSES_LIMIT {
            return Err(Invalid::new("hardware", format!("takes {CLASSES_LIMIT} classes, not {}", hardware.len())));
        }
        for (n, one) in hardware.iter().enumerate() {
            one.check().map_err(|problem| Invalid::new(format!("hardware[{n}]"), problem))?;
            if hardware[..n].iter().any(|other| other.class == one.class) {
                return Err(Invalid::new(format!("hardware[{n}]"), format!("counts {:?} a second time", one.class)));
            }
        }
        Ok(())
    }

    /// A type and subject have one status, and may have several reasons to be True.
    fn check_twins(&self) -> Result<(), Invalid> {
        let mut seen: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (n, condition) in self.conditions.iter().enumerate() {
            let twins = seen.entry((&condition.condition, &condition.subject)).or_default();
            for first in twins.iter().copied() {
                if let Some(problem) = contradiction(&self.conditions[first], condition) {
                    let twin = format!("names the same type and subject as `conditions[{first}]`{problem}");
                    return Err(Invalid::new(format!("conditions[{n}]"), twin));
                }
            }
            twins.push(n);
        }
        Ok(())
    }
}

fn contradiction(first: &Condition, second: &Condition) -> Option<&'static str> {
    if [first.status, second.status] != [ConditionStatus::True; 2] {
        return Some("; send one status for each, or several that are True");
    }
    (first.reason == second.reason).then_some(" and the same reason; send each reason once")
}

impl Event {
    fn check(&self) -> Result<(), String> {
        check_subject(self.subject.as_deref())
    }
}

impl Condition {
    fn check(&self) -> Result<(), String> {
        check_subject(self.subject.as_deref())
    }
}

impl Hardware {
    fn check(&self) -> Result<(), String> {
        for word in self.states.keys().chain([&self.class]) {
            check_word(word)?;
        }
        if self.states.contains_key("ok") {
            return Err("counts those that are `ok`: they are the rest".to_owned());
        }
        if self.states.len() > STATES_LIMIT {
            return Err(format!("takes {STATES_LIMIT} states, not {}", self.states.len()));
        }
        let unhealthy = self.states.values().fold(0, |sum: u64, count| sum + u64::from(*count));
        if unhealthy > u64::from(self.total) {
            return Err(format!("has {unhealthy} that are not well of {} in all", self.total));
        }
        if self.devices.len() > DEVICES_LIMIT {
            return Err(format!("describes at most {DEVICES_LIMIT} devices, not {}", self.devices.len()));
        }
        self.devices.iter().try_for_each(DeviceFacts::check)
    }
}

impl DeviceFacts {
    fn check(&self) -> Result<(), String> {
        if self.name.is_empty() {
            return Err("describes a device without a name".to_owned());
        }
        let facts = [&self.name, &self.model, &self.firmware, &self.driver];
        match facts.into_iter().find(|fact| fact.len() > FACT_LIMIT_BYTES || fact.contains(is_hidden)) {
            Some(fact) => {
                let given = cut(fact, FACT_LIMIT_BYTES);
                Err(format!("describes a device in lines of at most {FACT_LIMIT_BYTES} bytes, not {given:?}"))
            }
            None => Ok(()),
        }
    }
}

/// What stands in a column and in a label of a metric.
fn check_word(word: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || " -_/.".contains(c);
    if (1..=WORD_LIMIT_BYTES).contains(&word.len()) && word.chars().all(plain) && word.trim() == word {
        return Ok(());
    }
    let given = cut(word, WORD_LIMIT_BYTES);
    Err(format!("takes names of 1 to {WORD_LIMIT_BYTES} letters, digits, spaces and any of `-_/.`, not {given:?}"))
}

fn check_subject(subject: Option<&str>) -> Result<(), String> {
    match subject {
        Some(subject) if !(1..=SUBJECT_LIMIT_BYTES).contains(&subject.len()) => {
            Err(format!("takes 1 to {SUBJECT_LIMIT_BYTES} bytes, not {}; leave it out if there is none", subject.len()))
        }
        Some(subject) if subject.contains(|sign| is_hidden(sign) || selects_a_form(sign)) => {
            Err(format!("takes one line without control or invisible characters, not {:?}", cut(subject, 64)))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(json: &str) -> Status {
        serde_json::from_str(json).unwrap()
    }

    fn messages(json: &str) -> String {
        status(json).check().unwrap_err().to_string()
    }

    const RAID: &str =
        r#""type":"RaidProblem","transition":"2026-01-02T03:04:05Z","reason":"RaidDegraded","message":"m""#;

    #[test]
    fn a_heartbeat_and_a_whole_report_are_good() {
        status(r#"{"source":"a"}"#).check().unwrap();
        let json = format!(
            r#"{{"source":"raid-monitor.1_x","ttl":86400,"id":"1","full":true,"last":true,"linger":60,
            "conditions":[{{{RAID},"status":true,"severity":"error","action":"replace-disk"}},{{{RAID},"status":true,"subject":"md0"}}]}}"#
        );
        status(&json).check().unwrap();
    }

    #[test]
    fn several_reasons_of_one_subject_are_good() {
        let slow = RAID.replace("RaidDegraded", "RaidSlow");
        status(&format!(
            r#"{{"source":"a","conditions":[{{{RAID},"status":true}},{{{slow},"status":true}}],
            "hardware":[{{"class":"RAID arrays","total":2,"states":{{"degraded":1}}}}]}}"#
        ))
        .check()
        .unwrap();
    }

    #[test]
    fn a_bad_field_is_named_with_what_it_takes() {
        let long = "x".repeat(300);
        for (json, start) in [
            (r#"{"source":""}"#.to_owned(), "field `source` takes 1 to 64 letters"),
            (r#"{"source":"a@b"}"#.to_owned(), "field `source` takes"),
            (format!(r#"{{"source":"{long}"}}"#), "field `source` takes"),
            (r#"{"source":"a","ttl":86401}"#.to_owned(), "field `ttl` takes 0 to 86400 seconds, not 86401"),
            (
                r#"{"source":"a","last":true,"linger":3601}"#.to_owned(),
                "field `linger` takes 0 to 3600 seconds, not 3601",
            ),
            (r#"{"source":"a","linger":60}"#.to_owned(), "field `linger` goes with `last` only"),
            (format!(r#"{{"source":"a","id":"{long}"}}"#), "field `id` takes 1 to 128 bytes, not 300"),
            (
                format!(r#"{{"source":"a","conditions":[{{{RAID},"status":true,"subject":""}}]}}"#),
                "field `conditions[0].subject` takes 1 to 256 bytes",
            ),
            (
                format!(r#"{{"source":"a","conditions":[{{{RAID},"status":true,"subject":"a\n"}}]}}"#),
                "field `conditions[0].subject` takes one line",
            ),
            (
                format!(r#"{{"source":"a","conditions":[{{{RAID},"status":true,"subject":"a\u202eb"}}]}}"#),
                r#"field `conditions[0].subject` takes one line without control or invisible characters, not "a"#,
            ),
            (
                r#"{"source":"a","events":[{"severity":"warn","timestamp":"2026-01-02T03:04:05Z","reason":"A",
                "message":"m","subject":"sd\u200ba"}]}"#
                    .to_owned(),
                "field `events[0].subject` takes one line",
            ),
            (
                format!(r#"{{"source":"a","conditions":[{{{RAID},"status":true}},{{{RAID},"status":false}}]}}"#),
                "field `conditions[1]` names the same type and subject as `conditions[0]`; send one status for each",
            ),
            (
                format!(r#"{{"source":"a","conditions":[{{{RAID},"status":true}},{{{RAID},"status":true}}]}}"#),
                "field `conditions[1]` names the same type and subject as `conditions[0]` and the same reason",
            ),
            (
                r#"{"source":"a","hardware":[{"class":"disks","total":1},{"class":"disks","total":1}]}"#.to_owned(),
                r#"field `hardware[1]` counts "disks" a second time"#,
            ),
            (
                r#"{"source":"a","hardware":[{"class":"disks","total":2,"states":{"lost":2,"hot":1}}]}"#.to_owned(),
                "field `hardware[0]` has 3 that are not well of 2 in all",
            ),
            (
                r#"{"source":"a","hardware":[{"class":"disks","total":2,"states":{"ok":2}}]}"#.to_owned(),
                "field `hardware[0]` counts those that are `ok`",
            ),
            (
                r#"{"source":"a","hardware":[{"class":"disks=","total":2}]}"#.to_owned(),
                "field `hardware[0]` takes names of 1 to 32 letters",
            ),
            (
                format!(
                    r#"{{"source":"a","hardware":[{{"class":"GPUs","total":1,"devices":[{{"name":"{long}"}}]}}]}}"#
                ),
                "field `hardware[0]` describes a device in lines of at most 64 bytes",
            ),
            (
                r#"{"source":"a","hardware":[{"class":"GPUs","total":1,"devices":[{"name":""}]}]}"#.to_owned(),
                "field `hardware[0]` describes a device without a name",
            ),
            (
                r#"{"source":"a","hardware":[{"class":"GPUs","total":1,"devices":[{"name":"a","driver":"b\u0007"}]}]}"#
                    .to_owned(),
                "field `hardware[0]` describes a device in lines",
            ),
        ] {
            assert!(messages(&json).starts_with(start), "{}", messages(&json));
        }
    }
}
