//! The problem report interface: what a problem daemon reports (Node Problem Detector design, 2016), plus `subject`
//! (what is broken), `ttl` (how long the daemon's report holds), and what a daemon needs to report over a connection
//! that may break: `id`, `full` and `last`.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Action, Hardware, Name, Severity, SubjectKey};

/// One report of a problem daemon. Without events and conditions it is a heartbeat.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// The reporting daemon, such as `kernel-monitor`.
    pub source: String,
    /// Things that happened; they leave no lasting state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
    /// Lasting states. A condition and subject have one status here; if it is True, each of its reasons has an entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The devices it looks after, where it counts them: all classes. What it reported before stands if this is absent,
    /// except in a full report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware: Option<Vec<Hardware>>,
    /// For how many seconds this report holds without a further one.
    #[serde(default, rename = "ttl", skip_serializing_if = "Option::is_none")]
    pub ttl_secs: Option<u64>,
    /// The reporter's name for this report: the same id again changes nothing, so a report may be repeated safely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// This is all that the daemon has to report: what it reported before and does not name here is withdrawn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub full: bool,
    /// The daemon ends cleanly: its conditions are withdrawn, and nothing more is expected of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last: bool,
    /// Of a last report: for how many seconds conditions that are well stay, because the daemon may be starting again.
    #[serde(default, rename = "linger", skip_serializing_if = "Option::is_none")]
    pub linger_secs: Option<u64>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    pub severity: Severity,
    pub timestamp: Timestamp,
    pub reason: Name,
    pub message: String,
    /// What is broken: `nvme0n1`, a PCI address, a GPU UUID, a unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The monitor of the agent that sees it by itself, such as `kernel-monitor`: while that one runs, whatever its rules
    /// know, this event is not taken, because it would be there twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_by: Option<String>,
}

/// A lasting state. `True` means that the problem is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    #[serde(rename = "type")]
    pub condition: Name,
    pub status: ConditionStatus,
    /// When the status last changed, by the record's own time.
    pub transition: Timestamp,
    pub reason: Name,
    pub message: String,
    /// What is broken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// How bad it is; `warn` if the daemon does not set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// What a person or the controller should do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
}

/// A condition's state; read from a bool or from Kubernetes' strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConditionStatus {
    True,
    False,
    /// No daemon that can judge it is looking.
    Unknown,
}

impl Condition {
    /// What it is about.
    #[must_use]
    pub fn subject_key(&self) -> SubjectKey {
        SubjectKey { condition: self.condition.clone(), subject: self.subject.clone() }
    }
}

impl ConditionStatus {
    /// Kubernetes' string for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl std::fmt::Display for ConditionStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for ConditionStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ConditionStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = ConditionStatus;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("true, false, \"True\", \"False\" or \"Unknown\"")
            }
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<ConditionStatus, E> {
                Ok(if value { ConditionStatus::True } else { ConditionStatus::False })
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<ConditionStatus, E> {
                match value {
                    "True" => Ok(ConditionStatus::True),
                    "False" => Ok(ConditionStatus::False),
                    "Unknown" => Ok(ConditionStatus::Unknown),
                    other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_reads_bools_and_strings() {
        for (json, status) in [
            ("true", ConditionStatus::True),
            ("false", ConditionStatus::False),
            ("\"True\"", ConditionStatus::True),
            ("\"Unknown\"", ConditionStatus::Unknown),
        ] {
            assert_eq!(serde_json::from_str::<ConditionStatus>(json).unwrap(), status);
        }
        assert!(serde_json::from_str::<ConditionStatus>("\"yes\"").is_err());
        assert!(serde_json::from_str::<ConditionStatus>("1").is_err());
    }

    #[test]
    fn a_condition_has_the_design_documents_shape() {
        let json = r#"{"type":"KernelDeadlock","status":"True","transition":"2026-01-02T03:04:05Z","reason":"TaskHung","message":"m","subject":"dockerd"}"#;
        let condition: Condition = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&condition).unwrap(), json);
    }
}
