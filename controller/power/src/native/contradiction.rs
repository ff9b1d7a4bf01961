//! Levels that reported Off of a machine that runs: the node was Ready, and its kubelet renewed its Lease after that answer. A plug
//! of another machine reports so, an outlet that nothing hangs on, and an agent that takes what it cannot read for off. Such a level
//! proves nothing of this node until it has reported On of it.

use std::collections::BTreeMap;

use nodewell_remediation::{
    api::fence::Blocker,
    facts::{ConditionStatus, FENCE_READY, Node, READS_OFF},
    snapshot::{Level, PowerState},
    time::Moment,
};

/// By node and level.
#[derive(Debug, Default)]
pub(super) struct Contradictions {
    /// Whether it was contradicted by the kubelet; else it has reported On.
    known: BTreeMap<(String, Level), bool>,
    /// Off of a node that was Ready, and when it was reported. It may have died right before.
    suspected: BTreeMap<(String, Level), Moment>,
}

impl Contradictions {
    /// What a level reports of a node in its preflight.
    pub(super) fn reported(&mut self, node: &Node, level: Level, state: PowerState, now: Moment) {
        let key = (node.name.clone(), level);
        match state {
            PowerState::On => {
                self.suspected.remove(&key);
                self.known.insert(key, false);
            }
            PowerState::Off if node.is_ready() => drop(self.suspected.insert(key, now)),
            PowerState::Off | PowerState::Unknown => {}
        }
    }

    /// The kubelet of the node renewed its Lease at that moment. Whether that contradicts any level.
    pub(super) fn renewed(&mut self, node: &str, at: Moment) -> bool {
        let of_node = self.suspected.keys().filter(|(name, _)| name == node).cloned();
        let keys: Vec<(String, Level)> = of_node.filter(|key| self.suspected[key] < at).collect();
        for key in &keys {
            self.suspected.remove(key);
            self.known.insert(key.clone(), true);
        }
        !keys.is_empty()
    }

    /// # Errors
    /// The level is contradicted. A leader that has not seen it yet goes by what the one before has written.
    pub(super) fn check(&self, node: &Node, level: Level) -> Result<(), Blocker> {
        let key = (node.name.clone(), level);
        let is_contradicted = self.known.get(&key).copied().unwrap_or_else(|| is_written(node));
        if is_contradicted { Err(Blocker::plain("FenceNotReady/readsOff")) } else { Ok(()) }
    }

    pub(super) fn forget(&mut self, is_there: impl Fn(&str) -> bool) {
        self.known.retain(|(node, _), _| is_there(node));
        self.suspected.retain(|(node, _), _| is_there(node));
    }
}

/// Of which level is not written: of none is it known that it is right.
fn is_written(node: &Node) -> bool {
    let written = node.condition(FENCE_READY);
    written.is_some_and(|written| written.status == ConditionStatus::False && written.reason == READS_OFF)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use nodewell_remediation::{facts::Condition, guard::reason::FENCE_NOT_READY};

    use super::*;

    const FIRST: Level = Level::FIRST;
    const SECOND: Level = Level(2);

    fn at(seconds: u64) -> Moment {
        Moment(Duration::from_secs(seconds))
    }

    fn node(conditions: &[(&str, ConditionStatus, &str)]) -> Node {
        let condition = |(kind, status, reason): &(&str, ConditionStatus, &str)| Condition {
            kind: (*kind).into(),
            status: *status,
            reason: (*reason).into(),
            ..Condition::default()
        };
        Node { name: "n".into(), conditions: conditions.iter().map(condition).collect(), ..Node::default() }
    }

    fn ready() -> Node {
        node(&[("Ready", ConditionStatus::True, "")])
    }

    #[test]
    fn off_of_a_node_whose_kubelet_speaks_afterwards_is_contradicted_until_on_is_reported() {
        let mut all = Contradictions::default();
        all.reported(&ready(), FIRST, PowerState::Off, at(10));
        assert!(all.check(&ready(), FIRST).is_ok(), "the node may have died right before");
        assert!(!all.renewed("n", at(10)), "a renewal of that very moment may be older than the answer");
        assert!(!all.renewed("other", at(12)));
        assert!(all.renewed("n", at(12)));
        let blocker = all.check(&ready(), FIRST).unwrap_err();
        assert_eq!(blocker.reason, FENCE_NOT_READY);
        assert!(all.check(&ready(), SECOND).is_ok(), "the other level is as it was");
        all.reported(&ready(), FIRST, PowerState::Unknown, at(20));
        assert!(all.check(&ready(), FIRST).is_err(), "an answer that does not come proves nothing");
        all.reported(&ready(), FIRST, PowerState::On, at(30));
        assert!(all.check(&ready(), FIRST).is_ok());
    }

    #[test]
    fn off_of_a_node_that_is_not_ready_is_what_it_seems() {
        let mut all = Contradictions::default();
        all.reported(&node(&[("Ready", ConditionStatus::Unknown, "")]), FIRST, PowerState::Off, at(10));
        assert!(!all.renewed("n", at(12)));
    }

    #[test]
    fn a_new_leader_believes_no_level_of_a_node_that_was_contradicted_before_it_has_seen_it_on() {
        let mut all = Contradictions::default();
        let node = node(&[(FENCE_READY, ConditionStatus::False, READS_OFF)]);
        assert!(all.check(&node, FIRST).is_err() && all.check(&node, SECOND).is_err());
        all.reported(&node, SECOND, PowerState::On, at(10));
        assert!(all.check(&node, FIRST).is_err() && all.check(&node, SECOND).is_ok());
    }

    #[test]
    fn a_node_that_is_gone_is_forgotten() {
        let mut all = Contradictions::default();
        all.reported(&ready(), FIRST, PowerState::Off, at(10));
        all.renewed("n", at(12));
        all.reported(&ready(), SECOND, PowerState::Off, at(13));
        all.forget(|node| node != "n");
        assert!(all.check(&ready(), FIRST).is_ok());
        assert!(!all.renewed("n", at(20)));
    }
}
