//! Which of the policies that are true of a node has the say about it.

use crate::{api::policy::Mode, guard::stage::frees_pods, policy::Policy};

/// The first by name. Of a dead node, an enforced one that frees no pods steps aside for the next that does not step aside, if
/// that one is enforced. One that only observes, or is paused, keeps its place: it shields what comes after.
pub fn has_the_say<'p>(mut by_name: impl Iterator<Item = &'p Policy>, is_dead: bool) -> Option<&'p Policy> {
    let first = by_name.next()?;
    if !is_dead || !steps_aside(first) {
        return Some(first);
    }
    let next = by_name.find(|policy| !steps_aside(policy));
    Some(next.filter(|policy| policy.mode == Mode::Enforce).unwrap_or(first))
}

fn steps_aside(policy: &Policy) -> bool {
    policy.mode == Mode::Enforce && !frees_pods(&policy.steps)
}
