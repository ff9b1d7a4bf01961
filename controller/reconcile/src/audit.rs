//! What is reported for ever of each act that cannot be taken back, and of each change of a record: who, what and why.

use std::{fmt, sync::Arc};

use jiff::Timestamp;
use nodewell_remediation::{
    action::{EventDraft, IrreversibleOp, Outcome},
    api::fence::{NodeFence, Phase},
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
    ActBegins { act: String },
    /// What is known of its end.
    ActEnds { act: String, outcome: String },
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
    pub(crate) fn begins(op: &IrreversibleOp) -> Self {
        Self::ActBegins { act: name(op) }
    }

    pub(crate) fn ends(op: &IrreversibleOp, outcome: &Outcome) -> Self {
        Self::ActEnds { act: name(op), outcome: format!("{outcome:?}") }
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
