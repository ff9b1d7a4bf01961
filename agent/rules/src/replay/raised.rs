//! What a replay has raised so far: a recovery line is reported only if it ends something. A healthy boot prints many.

use std::collections::HashSet;

use nodewell_model::{Finding, FindingKind, Name};

/// Problems held at once; of a log that raises more, every later clear is reported.
const LIMIT: usize = 65_536;

/// Problems that a clear would end.
#[derive(Debug, Default)]
pub(super) struct Raised(HashSet<(Name, Name, Option<String>)>);

impl Raised {
    /// Takes note of `finding`; whether it is worth reporting.
    pub(super) fn admits(&mut self, finding: &Finding) -> bool {
        let Some(condition) = &finding.condition else { return true };
        let key = (condition.clone(), finding.reason.clone(), finding.subject.clone());
        match (finding.kind, &finding.subject) {
            (FindingKind::Raise, _) => {
                if self.0.len() < LIMIT {
                    self.0.insert(key);
                }
                true
            }
            (FindingKind::Clear, Some(_)) => self.0.remove(&key) || self.0.len() >= LIMIT,
            // Without a subject it ends all of its reason.
            (FindingKind::Clear, None) => {
                let before = self.0.len();
                self.0.retain(|(other, reason, _)| (other, reason) != (condition, &finding.reason));
                self.0.len() < before || before >= LIMIT
            }
        }
    }

    /// A new boot: what was raised before it is over.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}
