//! What was done by each policy since this program began, for callers that count it.

use super::Cache;

/// Nodes, as often as it happened to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Drains that were begun; one that goes on under another leader is begun there again.
    pub drains: u64,
    /// Of those, the ones that left pods.
    pub drains_failed: u64,
    /// Reaps that the provider was asked for.
    pub reaps: u64,
    /// Reaps that came to nothing, those among them that no plug-in could be asked for.
    pub reaps_failed: u64,
}

impl Cache {
    /// Something was done by this policy.
    pub fn count(&self, policy: &str, add: impl FnOnce(&mut Counts)) {
        add(self.lock().counts.entry(policy.to_owned()).or_default());
    }

    /// What was done by it so far.
    #[must_use]
    pub fn counts(&self, policy: &str) -> Counts {
        self.lock().counts.get(policy).copied().unwrap_or_default()
    }
}
