//! Drains under way. An eviction may be refused for minutes and then succeed: what a drain may have moved within the window, or
//! may move yet, is no more than the pods that were listed at any time since the window's beginning. So it counts for as long as
//! the drain lasts, and once more when it has ended, for it may have moved one since the last pass.

use std::{collections::VecDeque, time::Duration};

use super::Pass;
use crate::{guard::history::longest_window, snapshot::Snapshot, time::Moment};

/// Whose pods a drain moves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Drained {
    pub(super) policy: String,
    pub(super) node: String,
}

/// A drain that this leader gave out, and that had not ended in the last pass.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenDrain {
    /// How many pods were listed, and since when no more than that; what grows makes void what was before.
    listed: VecDeque<(Moment, usize)>,
}

impl OpenDrain {
    pub(super) fn given_out(pods: usize, now: Moment) -> Self {
        Self { listed: [(now, pods)].into() }
    }

    fn list(&mut self, pods: usize, now: Moment) {
        while self.listed.back().is_some_and(|(_, before)| *before < pods) {
            self.listed.pop_back();
        }
        if self.listed.back().is_none_or(|(_, before)| *before > pods) {
            self.listed.push_back((now, pods));
        }
    }

    /// The most since the window's beginning.
    fn most_within(&mut self, window: Duration, now: Moment) -> usize {
        while self.listed.get(1).is_some_and(|(since, _)| now.since(*since) >= window) {
            self.listed.pop_front();
        }
        self.listed.front().map_or(0, |(_, pods)| *pods)
    }
}

/// Before anything is decided: it counts for every record.
pub(super) fn charge(pass: &mut Pass<'_>) {
    let (snapshot, now) = (pass.input.snapshot, pass.input.now.moment);
    for (Drained { policy, node }, drain) in &mut pass.memory.drains {
        // Where they cannot be listed there may be as many as before.
        if let Some((_, pods)) = snapshot.gathered.get(node).and_then(|gathered| gathered.pods.as_ref()) {
            drain.list(pods.len(), now);
        }
        let most = drain.most_within(window(snapshot, policy), now);
        pass.input.history.count_pods(policy, node, most, now);
    }
    pass.memory.drains.retain(|drained, _| snapshot.busy.contains(&drained.node));
}

/// Of a policy that cannot be read, or is gone, the longest that any has.
fn window(snapshot: &Snapshot, policy: &str) -> Duration {
    let known = snapshot.policies.iter().find(|known| known.name == policy);
    known.map_or_else(|| longest_window(&snapshot.policies), |known| known.pods.window)
}
