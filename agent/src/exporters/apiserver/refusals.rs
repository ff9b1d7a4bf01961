//! Conditions that the server will not take (an admission policy, a field it does not like): left out, so that the
//! others get through, and tried again; pure.

use std::{collections::BTreeMap, time::Duration};

use nodewell_model::Name;

use super::object::{Draft, Fields};

/// What was refused, and with which content.
#[derive(Debug, Default)]
pub(super) struct Refusals(BTreeMap<Name, Refused>);

#[derive(Debug)]
struct Refused {
    words: Fields,
    why: String,
    again_at: Duration,
}

impl Refusals {
    /// Takes what was refused out of `draft`, unless its content is another now or it is time to try it again.
    pub(super) fn leave_out(&mut self, draft: &mut Draft, now: Duration) {
        self.0.retain(|name, refused| {
            let same = draft.get(name).is_some_and(|fields| words(fields) == refused.words);
            same && now < refused.again_at
        });
        draft.retain(|name, _| !self.0.contains_key(name));
    }

    /// The server refused these fields; it is not asked again before `again_at`.
    pub(super) fn learn(&mut self, name: Name, fields: &Fields, (why, again_at): (String, Duration)) {
        self.0.insert(name, Refused { words: words(fields), why, again_at });
    }

    /// For people; `None` if nothing is refused.
    pub(super) fn message(&self) -> Option<String> {
        let all: Vec<String> = self.0.iter().map(|(name, refused)| format!("{name} ({})", refused.why)).collect();
        (!all.is_empty()).then(|| format!("not on the Node, because the API server refuses it: {}", all.join(", ")))
    }
}

/// The heartbeat is another one each time.
fn words(fields: &Fields) -> Fields {
    let mut words = fields.clone();
    words.remove("lastHeartbeatTime");
    words
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const fn at(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    fn draft(message: &str, heartbeat: &str) -> Draft {
        let fields = |name: &str| {
            let pairs = [("type", name), ("message", message), ("lastHeartbeatTime", heartbeat)];
            pairs.into_iter().map(|(key, value)| (key.to_owned(), Value::from(value))).collect()
        };
        ["A", "B"].into_iter().map(|name| (Name::fixed(name), fields(name))).collect()
    }

    fn left(refusals: &mut Refusals, mut draft: Draft, now: u64) -> Vec<String> {
        refusals.leave_out(&mut draft, at(now));
        draft.keys().map(Name::to_string).collect()
    }

    #[test]
    fn what_was_refused_is_left_out_until_its_words_change_or_its_time_comes() {
        let refuse = || {
            let mut refusals = Refusals::default();
            refusals.learn(Name::fixed("A"), &draft("old", "1")["A"], ("no".to_owned(), at(300)));
            refusals
        };
        let mut refusals = refuse();
        assert_eq!(left(&mut refusals, draft("old", "2"), 10), ["B"]);
        assert_eq!(refusals.message().unwrap(), "not on the Node, because the API server refuses it: A (no)");
        assert_eq!(left(&mut refusals, draft("old", "3"), 300), ["A", "B"]);
        assert_eq!(refusals.message(), None);
        assert_eq!(left(&mut refuse(), draft("new", "2"), 10), ["A", "B"]);
    }

    #[test]
    fn a_condition_that_is_no_longer_ours_is_forgotten() {
        let mut refusals = Refusals::default();
        refusals.learn(Name::fixed("Gone"), &draft("m", "1")["A"], ("no".to_owned(), at(300)));
        assert_eq!(left(&mut refusals, draft("m", "2"), 10), ["A", "B"]);
        assert_eq!(refusals.message(), None);
    }
}
