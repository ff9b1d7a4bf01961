//! Mutes: a problem that a person knows of and does not want to act on yet. It stays a problem, is shown and counted, and
//! does not turn its condition.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Name, ProblemKey};

/// The longest word of why a problem is muted, and of who did it, in bytes.
pub const WHY_LIMIT_BYTES: usize = 256;

/// Which problems are muted, or called false positives.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MuteKey {
    pub reason: Name,
    /// Only of this condition, where several share the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Name>,
    /// Only of this subject; without one of every subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
}

impl MuteKey {
    /// Whether it is about problems of `condition`.
    #[must_use]
    pub fn concerns(&self, condition: &Name) -> bool {
        self.condition.as_ref().is_none_or(|only| only == condition)
    }

    /// Whether it is about the problem `key`.
    #[must_use]
    pub fn covers(&self, key: &ProblemKey) -> bool {
        let is_subject = self.subject.is_none() || self.subject == key.subject;
        self.reason == key.reason && is_subject && self.concerns(&key.condition)
    }
}

impl MuteKey {
    /// With the whole subject: for lists that people copy it from.
    #[must_use]
    pub fn whole(&self) -> String {
        self.with_subject(self.subject.as_deref())
    }

    fn with_subject(&self, subject: Option<&str>) -> String {
        let subject = subject.map(|subject| format!(" on {subject}")).unwrap_or_default();
        let condition = self.condition.as_ref().map(|condition| format!(" of {condition}")).unwrap_or_default();
        format!("{}{subject}{condition}", self.reason)
    }
}

impl std::fmt::Display for MuteKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.with_subject(self.subject.as_deref().map(crate::text::shown_subject)))
    }
}

/// A mute in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mute {
    #[serde(flatten)]
    pub key: MuteKey,
    /// It ends by itself at this time of the wall clock.
    pub until: Timestamp,
    /// Why, for people.
    pub why: String,
    /// Who muted it: a user, the service it is in, and the person behind it; or the file and line of the configuration.
    pub by: String,
    /// By the configuration: it comes and goes with its file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub configured: bool,
}

/// `POST /v1/mute`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MuteRequest {
    pub reason: Name,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Name>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    pub until: Timestamp,
    pub why: String,
    /// The person, where the peer acts for one (`sudo`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// `POST /v1/unmute`: the mute with exactly this reason, condition and subject ends; `POST /v1/unack`: these active
/// problems are no false positives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TakeBackRequest {
    pub reason: Name,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Name>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The person, where the peer acts for one (`sudo`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The answer to `POST /v1/mute`, `/v1/unmute`, `/v1/ack` and `/v1/unack`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AffectedView {
    /// How many active problems it is about; after `unmute` and `unack` how many turn their condition again.
    pub problems: usize,
    /// Whether it survives a crash of the agent.
    pub durable: bool,
}

impl From<TakeBackRequest> for MuteKey {
    fn from(TakeBackRequest { reason, condition, subject, .. }: TakeBackRequest) -> Self {
        Self { reason, condition, subject }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::new(text).unwrap()
    }

    #[test]
    fn a_mute_is_as_wide_as_it_says() {
        let problem =
            ProblemKey { condition: name("DiskUnhealthy"), reason: name("IOError"), subject: Some("sda".to_owned()) };
        let key = |condition: Option<&str>, subject: Option<&str>| MuteKey {
            reason: name("IOError"),
            condition: condition.map(name),
            subject: subject.map(str::to_owned),
        };
        assert!(key(None, None).covers(&problem));
        assert!(key(Some("DiskUnhealthy"), Some("sda")).covers(&problem));
        assert!(!key(Some("KernelUnhealthy"), None).covers(&problem));
        assert!(!key(None, Some("sdb")).covers(&problem));
        assert!(!MuteKey { reason: name("XfsError"), ..key(None, None) }.covers(&problem));
        let folded = ProblemKey { subject: None, ..problem };
        assert!(!key(None, Some("sda")).covers(&folded) && key(None, None).covers(&folded));
        assert_eq!(key(Some("DiskUnhealthy"), Some("sda")).to_string(), "IOError on sda of DiskUnhealthy");
    }
}
