//! Whether the other writers of our conditions still write: what they own of a condition is a sign of life when it
//! changes, their heartbeat with it; pure, time is an argument.

use std::{collections::BTreeMap, time::Duration};

use nodewell_model::Name;

use super::object::{ApplyPatch, Fields};

/// When each condition's other writer last wrote, on our clock: theirs may be another machine's.
#[derive(Debug, Default)]
pub(super) struct OtherWriters {
    seen: BTreeMap<Name, Sign>,
}

#[derive(Debug)]
struct Sign {
    theirs: Fields,
    since: Duration,
}

impl OtherWriters {
    /// Takes what the server shows of the conditions in conflict, of which we sent no more than `sent`.
    pub(super) fn observe<'a>(
        &mut self,
        in_conflict: impl Iterator<Item = &'a Name>,
        sent: &ApplyPatch,
        answered: &[Fields],
        now: Duration,
    ) {
        let mut seen = std::mem::take(&mut self.seen);
        for name in in_conflict {
            let Some(theirs) = answered.iter().find(|fields| is_of(fields, name)).map(|all| less(all, sent.get(name)))
            else {
                continue;
            };
            let since = seen.remove(name).filter(|sign| sign.theirs == theirs).map_or(now, |sign| sign.since);
            self.seen.insert(name.clone(), Sign { theirs, since });
        }
    }

    /// The conditions whose other writer has not written for `silence`.
    pub(super) fn silent_for(&self, silence: Duration, now: Duration) -> Vec<Name> {
        let is_silent = |sign: &Sign| now >= sign.since.saturating_add(silence);
        self.seen.iter().filter(|(_, sign)| is_silent(sign)).map(|(name, _)| name.clone()).collect()
    }
}

fn is_of(fields: &Fields, name: &Name) -> bool {
    fields.get("type").and_then(|value| value.as_str()) == Some(name.as_str())
}

/// What is not ours of a condition.
fn less(all: &Fields, ours: Option<&Fields>) -> Fields {
    let is_theirs = |key: &String| ours.is_none_or(|ours| !ours.contains_key(key));
    all.iter().filter(|(key, _)| is_theirs(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const SILENCE: Duration = Duration::from_mins(15);

    const fn at(mins: u64) -> Duration {
        Duration::from_mins(mins)
    }

    fn fields(name: &str, message: &str, heartbeat: &str) -> Fields {
        let pairs = [("type", name), ("message", message), ("lastHeartbeatTime", heartbeat)];
        pairs.into_iter().map(|(key, value)| (key.to_owned(), Value::from(value))).collect()
    }

    /// What is sent of a condition of which the other writer owns the heartbeat.
    fn sent(name: &str, message: &str) -> (Name, Fields) {
        let mut ours = fields(name, message, "");
        ours.remove("lastHeartbeatTime");
        (Name::new(name).unwrap(), ours)
    }

    #[test]
    fn a_writer_is_silent_when_nothing_of_its_own_changes() {
        let mut writers = OtherWriters::default();
        let names = [Name::fixed("A"), Name::fixed("B")];
        for minute in (0..=20).step_by(5) {
            let patch: ApplyPatch = ["A", "B"].map(|name| sent(name, &format!("ours at {minute}"))).into();
            let beat = format!("12:{minute:02}");
            let shown = [fields("A", "ours", "12:00"), fields("B", "ours", &beat), fields("Ready", "", &beat)];
            writers.observe(names.iter(), &patch, &shown, at(minute));
            let silent = writers.silent_for(SILENCE, at(minute));
            assert_eq!(silent, if minute < 15 { &[][..] } else { &names[..1] }, "after {minute} minutes");
        }
    }

    #[test]
    fn a_conflict_that_is_over_and_one_that_begins_again_start_from_nothing() {
        let mut writers = OtherWriters::default();
        let (name, shown) = (Name::fixed("A"), [fields("A", "theirs", "12:00")]);
        writers.observe([&name].into_iter(), &ApplyPatch::new(), &shown, at(0));
        writers.observe([].into_iter(), &ApplyPatch::new(), &shown, at(5));
        writers.observe([&name].into_iter(), &ApplyPatch::new(), &shown, at(10));
        assert_eq!(writers.silent_for(SILENCE, at(24)), []);
        assert_eq!(writers.silent_for(SILENCE, at(25)), [name]);
    }
}
