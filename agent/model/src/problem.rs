//! A problem's identity: condition, reason and subject, and the stable id made from them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Name;

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

impl ProblemKey {
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
