//! The vocabulary that every part of nodewell shares: wire types, names, severities, problem ids, records and findings.
//!
//! Data flows `Record` (a source read it) → `Finding` (a detector judged it) → problem and condition (the ledger
//! derived them) → `NodeView` (what people and the API server are shown). Values only: no clock, no I/O.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod ack;
pub mod api;
pub mod condition;
pub mod event;
pub mod finding;
pub mod hardware;
pub mod hw_counters;
pub mod inventory;
pub mod mute;
pub mod name;
pub mod origin;
pub mod problem;
pub mod record;
pub mod report;
pub mod row;
pub mod severity;
pub mod status;
pub mod text;
pub mod view;

pub use ack::Ack;
pub use condition::ConditionSpec;
pub use event::EventRecord;
pub use finding::{Action, Finding, FindingKind, RequiredProof};
pub use hardware::{DeviceFacts, Hardware};
pub use hw_counters::{HwCounters, HwCountersView};
pub use mute::{Mute, MuteKey};
pub use name::{Name, NameError};
pub use origin::{BootId, Origin};
pub use problem::{ProblemId, ProblemKey, SubjectKey};
pub use record::{NoFields, Record, RecordFields};
pub use row::{Row, Table};
pub use severity::Severity;
pub use status::{Condition, ConditionStatus, Event, Status};
