//! Whether the other writers of our conditions still write: what they own of a condition is a sign of life when it
//! changes, their heartbeat with it; pure, time is an argument.

use std::{collections::BTreeMap, time::Duration};

use nodewell_model::Name;
use nodewell_time::doubled;

use super::object::ApplyPatch;
use crate::exporters::apiserver::connection::Fields;

/// No writer needs more silence than this, unless the configuration asks for more.
const LONGEST_SILENCE: Duration = Duration::from_hours(24);

/// When each condition's other writer last wrote, on our clock: theirs may be another machine's.
#[derive(Debug, Default)]
pub(super) struct OtherWriters {
    seen: BTreeMap<Name, Sign>,
    /// How often each was taken over.
    taken_over: BTreeMap<Name, u32>,
}

/// Conditions whose other writer is silent, and for how long it has been at least.
pub(super) type SilentWriters = BTreeMap<Name, Duration>;

#[derive(Debug)]
struct Sign {
    theirs: Fields,
    since: Duration,
    looked_at: Duration,
}

/// What the server shows of the Node's conditions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look<'a> {
    pub(super) answered: &'a [Fields],
    pub(super) at: Duration,
}

impl OtherWriters {
    /// Takes what is shown of the conditions in conflict, of which we sent no more than `sent`. There is a look with
    /// each `heartbeat`: after a longer pause (an outage, a machine that slept) it is not known what was written
    /// meanwhile.
    pub(super) fn observe<'a>(
        &mut self,
        in_conflict: impl Iterator<Item = &'a Name>,
        sent: &ApplyPatch,
        look: Look<'_>,
        heartbeat: Duration,
    ) {
        let mut seen = std::mem::take(&mut self.seen);
        for name in in_conflict {
            let Some(all) = look.answered.iter().find(|fields| is_of(fields, name)) else { continue };
            let theirs = less(all, sent.get(name));
            let goes_on =
                |sign: &Sign| sign.theirs == theirs && look.at <= sign.looked_at + heartbeat.saturating_mul(2);
            let since = seen.remove(name).filter(goes_on).map_or(look.at, |sign| sign.since);
            self.seen.insert(name.clone(), Sign { theirs, since, looked_at: look.at });
        }
    }

    /// The conditions whose other writer had not written for `silence`, or for the longer one that it needs, when they
    /// were looked at last.
    pub(super) fn silent_for(&self, silence: Duration) -> SilentWriters {
        let needed = |name: &Name| {
            let returns = self.taken_over.get(name).copied().unwrap_or_default();
            doubled(silence, returns, silence.max(LONGEST_SILENCE))
        };
        let silent = self.seen.iter().map(|(name, sign)| (name, sign, needed(name)));
        let silent = silent.filter(|(_, sign, needed)| sign.looked_at >= sign.since.saturating_add(*needed));
        silent.map(|(name, _, needed)| (name.clone(), needed)).collect()
    }

    /// They are ours, or may be. Each that is in conflict again after that has a writer that is slow, and not gone: it
    /// needs twice the silence the next time, or the two would take turns for ever.
    pub(super) fn taken_over(&mut self, names: &[Name]) {
        self.forget(names);
        for name in names {
            let times = self.taken_over.entry(name.clone()).or_default();
            *times = times.saturating_add(1);
        }
    }

    /// Silence is counted again from nothing.
    pub(super) fn forget(&mut self, names: &[Name]) {
        self.seen.retain(|name, _| !names.contains(name));
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

    fn silent(writers: &OtherWriters) -> Vec<Name> {
        writers.silent_for(SILENCE).into_keys().collect()
    }

    const HEARTBEAT: Duration = Duration::from_mins(5);

    fn observe(writers: &mut OtherWriters, names: &[Name], sent: &ApplyPatch, shown: &[Fields], minute: u64) {
        writers.observe(names.iter(), sent, Look { answered: shown, at: at(minute) }, HEARTBEAT);
    }

    #[test]
    fn a_writer_is_silent_when_nothing_of_its_own_changes() {
        let mut writers = OtherWriters::default();
        let names = [Name::fixed("A"), Name::fixed("B")];
        for minute in (0..=20).step_by(5) {
            let patch: ApplyPatch = ["A", "B"].map(|name| sent(name, &format!("ours at {minute}"))).into();
            let beat = format!("12:{minute:02}");
            let shown = [fields("A", "ours", "12:00"), fields("B", "ours", &beat), fields("Ready", "", &beat)];
            observe(&mut writers, &names, &patch, &shown, minute);
            let silent = silent(&writers);
            assert_eq!(silent, if minute < 15 { &[][..] } else { &names[..1] }, "after {minute} minutes");
        }
        writers.forget(&names[..1]);
        assert_eq!(silent(&writers), []);
    }

    #[test]
    fn a_conflict_that_is_over_and_one_that_begins_again_start_from_nothing() {
        let mut writers = OtherWriters::default();
        let (names, shown) = ([Name::fixed("A")], [fields("A", "theirs", "12:00")]);
        observe(&mut writers, &names, &ApplyPatch::new(), &shown, 0);
        observe(&mut writers, &[], &ApplyPatch::new(), &shown, 5);
        for minute in [10, 15, 20] {
            observe(&mut writers, &names, &ApplyPatch::new(), &shown, minute);
        }
        assert_eq!(silent(&writers), []);
        observe(&mut writers, &names, &ApplyPatch::new(), &shown, 25);
        assert_eq!(silent(&writers), names);
    }

    /// Our credentials were refused, or the machine slept: the writer may have written all the time.
    #[test]
    fn not_to_have_looked_is_no_silence() {
        let mut writers = OtherWriters::default();
        let (names, shown) = ([Name::fixed("A")], [fields("A", "theirs", "12:00")]);
        for minute in [0, 5, 40] {
            observe(&mut writers, &names, &ApplyPatch::new(), &shown, minute);
            assert_eq!(silent(&writers), [], "{minute}");
        }
    }

    /// Node Problem Detector with a period of half an hour.
    #[test]
    fn a_writer_that_comes_back_needs_twice_the_silence_each_time() {
        let (mut writers, names) = (OtherWriters::default(), [Name::fixed("A")]);
        let mut waited = Vec::new();
        let mut minute = 0;
        for beat in 0..10 {
            let since = minute;
            let shown = [fields("A", "theirs", &format!("beat {beat}"))];
            while silent(&writers).is_empty() {
                observe(&mut writers, &names, &ApplyPatch::new(), &shown, minute);
                minute += 5;
            }
            waited.push(minute - 5 - since);
            assert_eq!(writers.silent_for(SILENCE)[&names[0]], at(waited[beat]));
            writers.taken_over(&names);
        }
        assert_eq!(waited, [15, 30, 60, 120, 240, 480, 960, 1440, 1440, 1440]);
    }

    #[test]
    fn a_silence_that_is_asked_for_is_never_cut() {
        let (mut writers, names) = (OtherWriters::default(), [Name::fixed("A")]);
        writers.taken_over(&names);
        for minute in (0..=3_000).step_by(5) {
            observe(&mut writers, &names, &ApplyPatch::new(), &[fields("A", "theirs", "")], minute);
            assert_eq!(writers.silent_for(at(2_000)).len(), usize::from(minute >= 2_000), "{minute}");
        }
    }
}
