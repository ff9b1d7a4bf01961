//! The identity of what is reported: a condition type with its subject, a problem with its reason too, and the stable id
//! of a problem.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Name;

/// A condition type and a subject of it: what has one status of a daemon, and one or more reasons if that is True.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SubjectKey {
    pub condition: Name,
    /// `None`: the type as a whole.
    pub subject: Option<String>,
}

/// What makes two findings the same problem.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProblemKey {
    pub condition: Name,
    pub reason: Name,
    pub subject: Option<String>,
}

/// The public id of a problem: sixteen hexadecimal digits, the same on every node and in every version.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProblemId(u64);

impl SubjectKey {
    #[must_use]
    pub fn new(condition: Name, subject: Option<String>) -> Self {
        Self { condition, subject }
    }

    /// As a verdict has it: an empty `subject` is the type as a whole.
    #[must_use]
    pub fn of(condition: Name, subject: String) -> Self {
        Self { condition, subject: Some(subject).filter(|subject| !subject.is_empty()) }
    }

    /// The type as a whole.
    #[must_use]
    pub fn whole(condition: Name) -> Self {
        Self { condition, subject: None }
    }

    /// Its problem for `reason`.
    #[must_use]
    pub fn problem(&self, reason: Name) -> ProblemKey {
        ProblemKey { condition: self.condition.clone(), reason, subject: self.subject.clone() }
    }

    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.subject.is_none()
    }

    /// Whether `other` is this key, or of the type that a key without a subject stands for.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        other == self || (self.is_whole() && other.condition == self.condition)
    }
}

impl ProblemKey {
    /// What has the problem.
    #[must_use]
    pub fn subject_key(&self) -> SubjectKey {
        SubjectKey { condition: self.condition.clone(), subject: self.subject.clone() }
    }

    /// FNV-1a over the three parts, each ended by a NUL: stable by definition, not by a hasher's grace.
    #[must_use]
    pub fn id(&self) -> ProblemId {
        let subject = self.subject.as_deref().unwrap_or_default();
        ProblemId(stable_hash(&[self.condition.as_str(), self.reason.as_str(), subject]))
    }
}

/// A 64-bit FNV-1a hash over `parts`, each ended by a NUL byte.
#[must_use]
pub fn stable_hash<P: AsRef<[u8]>>(parts: &[P]) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    parts
        .iter()
        .flat_map(|part| part.as_ref().iter().copied().chain([0]))
        .fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

impl fmt::Display for ProblemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for ProblemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_stable_and_tells_parts_apart() {
        let key = |subject: &str| ProblemKey {
            condition: Name::fixed("DiskUnhealthy"),
            reason: Name::fixed("IOError"),
            subject: Some(subject.to_owned()),
        };
        assert_eq!(key("sda").id().to_string(), "dc20e3fadc691ea0");
        assert_ne!(key("sda").id(), key("sdb").id());
        assert_ne!(stable_hash(&["ab", "c"]), stable_hash(&["a", "bc"]));
    }
}
