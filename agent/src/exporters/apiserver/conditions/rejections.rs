//! Conditions that the server will not take (an admission policy, a field it does not like): left out, so that the
//! others get through, and tried again; pure.

use std::{collections::BTreeMap, time::Duration};

use nodewell_model::Name;

use super::object::ApplyPatch;
use crate::exporters::apiserver::connection::Fields;

/// What was refused, and with which content.
#[derive(Debug, Default)]
pub(super) struct Rejections(BTreeMap<Name, Rejected>);

#[derive(Debug)]
struct Rejected {
    content: Fields,
    reason: String,
    again_at: Duration,
}

impl Rejections {
    /// Takes what was refused out of `patch`, unless its content is another now or it is time to try it again.
    pub(super) fn leave_out(&mut self, patch: &mut ApplyPatch, now: Duration) {
        self.0.retain(|name, rejected| {
            let same = patch.get(name).is_some_and(|fields| content(fields) == rejected.content);
            same && now < rejected.again_at
        });
        patch.retain(|name, _| !self.0.contains_key(name));
    }

    /// The server refused these fields; it is not asked again before `again_at`.
    pub(super) fn learn(&mut self, name: Name, fields: &Fields, reason: String, again_at: Duration) {
        self.0.insert(name, Rejected { content: content(fields), reason, again_at });
    }

    /// For people; `None` if nothing is refused.
    pub(super) fn message(&self) -> Option<String> {
        let all: Vec<String> = self.0.iter().map(|(name, rejected)| format!("{name} ({})", rejected.reason)).collect();
        (!all.is_empty()).then(|| format!("not on the Node, because the API server refuses it: {}", all.join(", ")))
    }
}

/// The heartbeat is another one each time.
fn content(fields: &Fields) -> Fields {
    let mut content = fields.clone();
    content.remove("lastHeartbeatTime");
    content
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const fn at(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    fn patch(message: &str, heartbeat: &str) -> ApplyPatch {
        let fields = |name: &str| {
            let pairs = [("type", name), ("message", message), ("lastHeartbeatTime", heartbeat)];
            pairs.into_iter().map(|(key, value)| (key.to_owned(), Value::from(value))).collect()
        };
        ["A", "B"].into_iter().map(|name| (Name::fixed(name), fields(name))).collect()
    }

    fn left(rejections: &mut Rejections, mut patch: ApplyPatch, now: u64) -> Vec<String> {
        rejections.leave_out(&mut patch, at(now));
        patch.keys().map(Name::to_string).collect()
    }

    #[test]
    fn what_was_refused_is_left_out_until_its_words_change_or_its_time_comes() {
        let refuse = || {
            let mut rejections = Rejections::default();
            rejections.learn(Name::fixed("A"), &patch("old", "1")["A"], "no".to_owned(), at(300));
            rejections
        };
        let mut rejections = refuse();
        assert_eq!(left(&mut rejections, patch("old", "2"), 10), ["B"]);
        assert_eq!(rejections.message().unwrap(), "not on the Node, because the API server refuses it: A (no)");
        assert_eq!(left(&mut rejections, patch("old", "3"), 300), ["A", "B"]);
        assert_eq!(rejections.message(), None);
        assert_eq!(left(&mut refuse(), patch("new", "2"), 10), ["A", "B"]);
    }

    #[test]
    fn a_condition_that_is_no_longer_ours_is_forgotten() {
        let mut rejections = Rejections::default();
        rejections.learn(Name::fixed("Gone"), &patch("m", "1")["A"], "no".to_owned(), at(300));
        assert_eq!(left(&mut rejections, patch("m", "2"), 10), ["A", "B"]);
        assert_eq!(rejections.message(), None);
    }
}
