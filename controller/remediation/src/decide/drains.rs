//! Drains under way. An eviction may be refused for minutes and then succeed: pods of a drain count as moved for as long as
//! it may move any, and once more when it has ended, for it may have moved one since the last pass.

use super::Pass;

/// A drain that this leader gave out, and that had not ended in the last pass.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OpenDrain {
    pub(super) policy: String,
    pub(super) node: String,
}

/// Before anything is decided: it counts for every record. How many were counted when it was given out still counts where
/// its pods are not listed any more.
pub(super) fn charge(pass: &mut Pass<'_>) {
    let (snapshot, now) = (pass.input.snapshot, pass.input.now.moment);
    for OpenDrain { policy, node } in &pass.memory.drains {
        let read = snapshot.gathered.get(node).and_then(|gathered| gathered.pods.as_ref());
        pass.input.history.charge_pods(policy, node, read.map_or(0, |(_, pods)| pods.len()), now);
    }
    pass.memory.drains.retain(|drain| snapshot.busy.contains(&drain.node));
}
