//! A record of a remediation: one that is open, or the copy of one that ended.

use jiff::Timestamp;
use nodewell_remediation::api::{ended::is_ended, fence::NodeFence};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordFacts {
    pub(crate) fence: NodeFence,
    pub(crate) has_ended: bool,
}

impl RecordFacts {
    pub(crate) fn read(raw: Value) -> Result<Self, serde_json::Error> {
        let has_ended = is_ended(&raw);
        Ok(Self { fence: serde_json::from_value(raw)?, has_ended })
    }

    pub(crate) fn name(&self) -> &str {
        &self.fence.metadata.name
    }

    pub(crate) fn node(&self) -> &str {
        &self.fence.spec.node_name
    }

    /// A copy is made at the end, and what it copies was made at the first entry of its log.
    pub(crate) fn begun(&self) -> Option<Timestamp> {
        let first = || self.fence.status.log.first().map(|entry| entry.at);
        if self.has_ended { first() } else { self.fence.metadata.creation_timestamp.or_else(first) }
    }

    /// Nothing of one that is open.
    pub(crate) fn ended(&self) -> Option<Timestamp> {
        self.fence.metadata.creation_timestamp.filter(|_| self.has_ended)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(name: &str) -> RecordFacts {
        RecordFacts::read(json!({
            "metadata": { "name": name, "creationTimestamp": "2026-01-01T01:00:00Z" },
            "spec": { "nodeName": "n1", "nodeUID": "u" },
            "status": { "log": [{ "at": "2026-01-01T00:30:00Z", "epoch": 1, "text": "Isolating: it is opened" }] },
        }))
        .unwrap()
    }

    #[test]
    fn a_copy_was_made_when_what_it_copies_ended() {
        let at = |text: &str| Some(text.parse().unwrap());
        let (open, copy) = (record("n1"), record("n1-ended-0a1b2c3d"));
        assert_eq!((open.begun(), open.ended()), (at("2026-01-01T01:00:00Z"), None));
        assert_eq!((copy.begun(), copy.ended()), (at("2026-01-01T00:30:00Z"), at("2026-01-01T01:00:00Z")));
        assert_eq!((open.node(), copy.node()), ("n1", "n1"));
    }
}
