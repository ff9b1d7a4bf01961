//! What is reported for ever of each act that cannot be taken back, and of each change of a record: who, what and why.

use std::{fmt, sync::Arc};

use jiff::Timestamp;
use nodewell_remediation::{
    action::{Done, EventDraft, Failed, IrreversibleOp, Outcome},
    api::fence::{NodeFence, Phase},
    snapshot::Level,
};
use serde::Serialize;

/// One line of the audit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    pub at: Timestamp,
    /// The leader's term.
    pub term: u64,
    pub node: String,
    /// The UID of the Node's record.
    pub record: String,
    /// Empty if a person opened the record.
    pub policy: String,
    #[serde(flatten)]
    pub what: Audited,
    /// Why the record was opened: the evidence.
    pub cause: String,
    /// Who asked for it and why, as that person's own claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<String>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "what", rename_all = "camelCase")]
pub enum Audited {
    /// It is about to go out; its intent is in the record already.
    ActBegins {
        act: String,
        #[serde(flatten)]
        by: Means,
    },
    /// What is known of its end.
    ActEnds {
        act: String,
        /// A word of `nodewell_controller_actions_total`, as fields are written here: `notBegun`.
        outcome: &'static str,
        /// What else is known of it, for people.
        #[serde(skip_serializing_if = "String::is_empty")]
        message: String,
        #[serde(flatten)]
        by: Means,
    },
    /// The record was written.
    Phase {
        #[serde(skip_serializing_if = "Option::is_none")]
        from: Option<Phase>,
        to: Phase,
        reason: String,
        message: String,
    },
    /// The record was deleted.
    RecordEnds { reason: String, message: String },
}

/// By what the power is turned off or on.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Means {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fencing_level: Option<Level>,
    /// Fence agents, `METHOD/ACTION`, as the record has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<String>,
}

impl Means {
    fn of(op: &IrreversibleOp, fence: &NodeFence) -> Self {
        match op {
            IrreversibleOp::PowerOff | IrreversibleOp::PowerOn => {
                Self { fencing_level: Some(fence.status.level), jobs: fence.status.jobs.clone() }
            }
            IrreversibleOp::Reap => Self { fencing_level: None, jobs: fence.status.jobs.clone() },
            IrreversibleOp::Release { .. } => Self::default(),
        }
    }
}

/// Takes lines; never waits.
#[derive(Clone, Default)]
pub struct Audit(Option<Arc<dyn Fn(AuditEntry) + Send + Sync>>);

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Audit").field(&self.0.is_some()).finish()
    }
}

impl Audit {
    /// `take` must not block: what it does is done between a decision and its act.
    pub fn new(take: impl Fn(AuditEntry) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(take)))
    }

    /// A record was deleted by other hands than the executor's.
    pub fn record_ended(&self, at: Timestamp, term: u64, fence: &NodeFence, why: &EventDraft) {
        self.write(at, term, fence, Audited::ended(why));
    }

    pub(crate) fn write(&self, at: Timestamp, term: u64, fence: &NodeFence, what: Audited) {
        let Some(take) = &self.0 else { return };
        take(AuditEntry {
            at,
            term,
            node: fence.spec.node_name.clone(),
            record: fence.metadata.uid.clone(),
            policy: fence.spec.policy.clone(),
            what,
            cause: fence.spec.cause.clone(),
            asked_by: fence.metadata.annotations.get(nodewell_remediation::api::ASKED_BY).cloned(),
        });
    }
}

impl Audited {
    pub(crate) fn begins(op: &IrreversibleOp, fence: &NodeFence) -> Self {
        Self::ActBegins { act: name(op), by: Means::of(op, fence) }
    }

    pub(crate) fn ends(op: &IrreversibleOp, fence: &NodeFence, outcome: &Outcome) -> Self {
        let (outcome, message) = end(outcome);
        Self::ActEnds { act: name(op), outcome, message, by: Means::of(op, fence) }
    }

    pub(crate) fn phase(from: Option<Phase>, to: Phase, why: &EventDraft) -> Self {
        Self::Phase { from, to, reason: why.reason.clone(), message: why.message.clone() }
    }

    pub(crate) fn ended(why: &EventDraft) -> Self {
        Self::RecordEnds { reason: why.reason.clone(), message: why.message.clone() }
    }
}

fn name(op: &IrreversibleOp) -> String {
    match op {
        IrreversibleOp::PowerOff => "powerOff".to_owned(),
        IrreversibleOp::PowerOn => "powerOn".to_owned(),
        IrreversibleOp::Reap => "reap".to_owned(),
        IrreversibleOp::Release { pods } => format!("release of {} pods", pods.len()),
    }
}

/// Its word and what else is known. A word never changes: programs read lines of years ago.
fn end(outcome: &Outcome) -> (&'static str, String) {
    match outcome {
        Ok(Done::Yes) => ("done", String::new()),
        Ok(Done::NotOurs) => ("notOurs", "another actor had done it before".to_owned()),
        Ok(Done::Off(off)) => {
            let already = if off.already_off { "; it was off before, and no agent was run" } else { "" };
            ("done", format!("read as off {} times, by {}{already}", off.reads, off.by.join(", ")))
        }
        Ok(Done::Booted) => ("done", "another boot is alive".to_owned()),
        Ok(Done::Released(pods)) => ("done", format!("{pods} pods were deleted")),
        // What can be taken back has no line.
        Ok(Done::Drain(_) | Done::Power(_)) => ("done", String::new()),
        Err(Failed::Gone(what)) => ("gone", what.clone()),
        Err(Failed::NotBegun(why)) => ("notBegun", why.clone()),
        Err(Failed::Refused(why)) => ("refused", why.clone()),
        Err(Failed::InDoubt(why)) => ("inDoubt", why.clone()),
        Err(Failed::Timeout(after)) => ("timeout", format!("no end within {} s", after.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use nodewell_remediation::api::fence::{Confirmation, NodeFenceSpec, NodeFenceStatus};

    use super::*;

    #[test]
    fn an_act_of_power_names_its_level_and_its_agents() {
        let status = NodeFenceStatus { level: Level(2), jobs: vec!["pdu-a/off".into()], ..NodeFenceStatus::default() };
        let fence = NodeFence { metadata: Default::default(), spec: NodeFenceSpec::default(), status };
        let json = |what: &Audited| serde_json::to_value(what).unwrap();
        let begins = json(&Audited::begins(&IrreversibleOp::PowerOff, &fence));
        assert_eq!(
            begins,
            serde_json::json!({ "what": "actBegins", "act": "powerOff", "fencingLevel": 2, "jobs": ["pdu-a/off"] })
        );
        let ends = json(&Audited::ends(&IrreversibleOp::PowerOn, &fence, &Ok(Done::Yes)));
        let expected = serde_json::json!({ "what": "actEnds", "act": "powerOn", "outcome": "done", "fencingLevel": 2,
            "jobs": ["pdu-a/off"] });
        assert_eq!(ends, expected);
        let released = json(&Audited::begins(&IrreversibleOp::Release { pods: Vec::new() }, &fence));
        assert_eq!(released, serde_json::json!({ "what": "actBegins", "act": "release of 0 pods" }));
    }

    #[test]
    fn an_end_is_a_word_and_a_message_for_people() {
        let off = Confirmation {
            at: Timestamp::UNIX_EPOCH,
            reads: 2,
            by: vec!["bmc".into()],
            boot_id: "b".into(),
            already_off: false,
            epoch: 3,
        };
        let before = Confirmation { already_off: true, ..off.clone() };
        let by_itself = "read as off 2 times, by bmc; it was off before, and no agent was run";
        let ends: [(Outcome, &str, &str); 8] = [
            (Ok(Done::Off(off)), "done", "read as off 2 times, by bmc"),
            (Ok(Done::Off(before)), "done", by_itself),
            (Ok(Done::Booted), "done", "another boot is alive"),
            (Ok(Done::Released(3)), "done", "3 pods were deleted"),
            (Err(Failed::NotBegun("a person".into())), "notBegun", "a person"),
            (Err(Failed::Refused("wrong password".into())), "refused", "wrong password"),
            (Err(Failed::InDoubt("no answer".into())), "inDoubt", "no answer"),
            (Err(Failed::Timeout(Duration::from_secs(20))), "timeout", "no end within 20 s"),
        ];
        for (outcome, word, message) in ends {
            assert_eq!(end(&outcome), (word, message.to_owned()));
        }
    }
}
