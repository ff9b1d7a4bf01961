//! What `plan` and `kubectl describe` show of each node: what would be done now, or why nothing is.

use crate::api::fence::{Blocker, Phase};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeReport {
    pub node: String,
    /// The policy whose predicate is true of it; of several the first by name.
    pub policy: Option<String>,
    /// Other policies whose predicates are true of it as well. They decide nothing while the first does.
    pub also: Vec<String>,
    pub phase: Option<Phase>,
    /// What is done, or would be if nothing blocked it: `cordon`, `drain`, `powerCycle`.
    pub next: Option<String>,
    /// Everything that speaks against it, not only the first.
    pub blockers: Vec<Blocker>,
    /// Predicates that could not be judged: policy and error.
    pub errors: Vec<(String, String)>,
}
