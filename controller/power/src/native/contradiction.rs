//! Levels that reported Off of a machine that runs: the node was Ready, and its kubelet renewed its Lease after that answer. A plug
//! of another machine reports so, an outlet that nothing hangs on, and an agent that takes what it cannot read for off. Such a level
//! proves nothing of this node until it has reported On of it.

use std::{collections::BTreeMap, time::Duration};

use nodewell_remediation::{
    api::fence::Blocker,
    facts::{ConditionStatus, FENCE_READY, Node, READS_OFF},
    method::ValidatedMethods,
    snapshot::{Level, PowerState},
    time::Moment,
};

use super::logins::stamp;

/// A renewal of before the answer may be seen so late: one that is seen later was made after it.
const OBSERVATION_DELAY: Duration = Duration::from_secs(15);

/// By node and level, of one term: what a leader knew once, another one may have seen otherwise since.
#[derive(Debug, Default)]
pub(super) struct Contradictions {
    /// Whether it was contradicted by the kubelet; else it has reported On.
    known: BTreeMap<(String, Level), bool>,
    /// It may have died right before.
    suspected: BTreeMap<(String, Level), Suspicion>,
}

/// Off of a node that was Ready ever since.
#[derive(Debug)]
struct Suspicion {
    /// When it was first reported.
    at: Moment,
    /// Of the boot that the Node named. What another boot renews says nothing of it: the machine was off, and is on again.
    boot: String,
}

impl Contradictions {
    /// What a level reports of a node in its preflight.
    pub(super) fn reported(&mut self, node: &Node, level: Level, state: PowerState, now: Moment) {
        let key = (node.name.clone(), level);
        if state == PowerState::Off && node.is_ready() {
            let suspicion = self.suspected.remove(&key).filter(|suspicion| suspicion.boot == node.boot_id);
            let suspicion = suspicion.unwrap_or_else(|| Suspicion { at: now, boot: node.boot_id.clone() });
            self.suspected.insert(key, suspicion);
            return;
        }
        self.suspected.remove(&key);
        if state == PowerState::On {
            self.known.insert(key, false);
        }
    }

    /// The kubelet's last renewal of the node's Lease was seen at that moment. Whether that contradicts any level.
    pub(super) fn renewed(&mut self, node: &Node, seen: Moment) -> bool {
        let speaks = |one: &Suspicion| one.boot == node.boot_id && one.at.plus(OBSERVATION_DELAY) <= seen;
        let of_node = self.suspected.iter().filter(|((name, _), one)| *name == node.name && speaks(one));
        let keys: Vec<(String, Level)> = of_node.map(|(key, _)| key.clone()).collect();
        for key in &keys {
            self.suspected.remove(key);
            self.known.insert(key.clone(), true);
        }
        !keys.is_empty()
    }

    /// # Errors
    /// The level is contradicted. A leader that has not seen it yet goes by what the one before has written.
    fn check(&self, node: &Node, level: Level) -> Result<(), Blocker> {
        let key = (node.name.clone(), level);
        let is_contradicted = self.known.get(&key).copied().unwrap_or_else(|| is_written_of(node, level));
        if is_contradicted { Err(Blocker::plain("FenceNotReady/readsOff")) } else { Ok(()) }
    }

    /// The same for what is configured. A switch that keeps a node off its storage reports Off of a machine that runs, and is
    /// right.
    pub(super) fn check_machine(&self, validated: &ValidatedMethods, node: &Node, level: Level) -> Result<(), Blocker> {
        if validated.storage_only.is_some() { Ok(()) } else { self.check(node, level) }
    }

    /// Any level is, whichever the node has.
    pub(super) fn is_any(&self, node: &Node) -> bool {
        is_written(node) || self.known.iter().any(|((name, _), is_contradicted)| *name == node.name && *is_contradicted)
    }

    pub(super) fn forget(&mut self, is_there: impl Fn(&str) -> bool) {
        self.known.retain(|(node, _), _| is_there(node));
        self.suspected.retain(|(node, _), _| is_there(node));
    }
}

/// The beginning of what is found of one of several levels.
pub(super) fn at_level(level: Level) -> String {
    format!("level {level}: ")
}

/// Where another level is named this one was believed; where none is, none was.
fn is_written_of(node: &Node, level: Level) -> bool {
    let message = node.condition(FENCE_READY).map(|written| stamp::without(&written.message)).unwrap_or_default();
    let is_named = message.starts_with("level ");
    is_written(node) && (!is_named || message.starts_with(&at_level(level)))
}

fn is_written(node: &Node) -> bool {
    let written = node.condition(FENCE_READY);
    written.is_some_and(|written| written.status == ConditionStatus::False && written.reason == READS_OFF)
}

#[cfg(test)]
mod tests {
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

    fn not_ready() -> Node {
        node(&[("Ready", ConditionStatus::Unknown, "")])
    }

    #[test]
    fn off_of_a_node_whose_kubelet_speaks_afterwards_is_contradicted_until_on_is_reported() {
        let mut all = Contradictions::default();
        all.reported(&ready(), FIRST, PowerState::Off, at(10));
        assert!(all.check(&ready(), FIRST).is_ok(), "the node may have died right before");
        all.reported(&ready(), FIRST, PowerState::Off, at(24));
        assert!(!all.renewed(&ready(), at(24)), "a renewal of before may be seen late");
        assert!(!all.renewed(&Node { name: "other".into(), ..ready() }, at(26)));
        assert!(all.renewed(&ready(), at(25)));
        let blocker = all.check(&ready(), FIRST).unwrap_err();
        assert_eq!(blocker.reason, FENCE_NOT_READY);
        assert!(all.is_any(&ready()));
        assert!(all.check(&ready(), SECOND).is_ok(), "the other level is as it was");
        all.reported(&ready(), FIRST, PowerState::Unknown, at(30));
        assert!(all.check(&ready(), FIRST).is_err(), "an answer that does not come proves nothing");
        all.reported(&ready(), FIRST, PowerState::On, at(40));
        assert!(all.check(&ready(), FIRST).is_ok() && !all.is_any(&ready()));
    }

    #[test]
    fn off_of_a_node_that_is_not_ready_is_what_it_seems() {
        let mut all = Contradictions::default();
        all.reported(&not_ready(), FIRST, PowerState::Off, at(10));
        assert!(!all.renewed(&ready(), at(100)));
        all.reported(&ready(), FIRST, PowerState::Off, at(110));
        all.reported(&not_ready(), FIRST, PowerState::Off, at(115));
        assert!(!all.renewed(&ready(), at(700)), "it was off then, and was turned on since");
    }

    #[test]
    fn an_answer_that_did_not_come_begins_the_suspicion_again() {
        let mut all = Contradictions::default();
        all.reported(&ready(), FIRST, PowerState::Off, at(10));
        all.reported(&ready(), FIRST, PowerState::Unknown, at(20));
        all.reported(&ready(), FIRST, PowerState::Off, at(30));
        assert!(!all.renewed(&ready(), at(30)));
        assert!(all.renewed(&ready(), at(45)));
    }

    /// Off, on again, and off once more, each before its Node is known not to be Ready.
    #[test]
    fn what_the_next_boot_renews_contradicts_nothing() {
        let mut all = Contradictions::default();
        let next = Node { boot_id: "next".into(), ..ready() };
        all.reported(&ready(), FIRST, PowerState::Off, at(10));
        assert!(!all.renewed(&next, at(40)));
        all.reported(&next, FIRST, PowerState::Off, at(41));
        assert!(!all.renewed(&next, at(40)) && !all.renewed(&next, at(55)));
        assert!(all.renewed(&next, at(56)));
    }

    #[test]
    fn a_new_leader_believes_no_level_of_a_node_that_was_contradicted_before_it_has_seen_it_on() {
        let mut all = Contradictions::default();
        let node = node(&[(FENCE_READY, ConditionStatus::False, READS_OFF)]);
        assert!(all.check(&node, FIRST).is_err() && all.check(&node, SECOND).is_err() && all.is_any(&node));
        all.reported(&node, SECOND, PowerState::On, at(10));
        assert!(all.check(&node, FIRST).is_err() && all.check(&node, SECOND).is_ok());
    }

    #[test]
    fn a_new_leader_believes_the_levels_that_are_not_named() {
        for before in ["", "logins: bmc refused current 2026-11-25T19:26:00Z [9c3e5f01 00c0ffee]. "] {
            let all = Contradictions::default();
            let mut node = node(&[(FENCE_READY, ConditionStatus::False, READS_OFF)]);
            node.conditions[0].message = format!("{before}{}it reported Off", at_level(SECOND));
            assert!(all.check(&node, SECOND).is_err() && all.is_any(&node));
            assert!(all.check(&node, FIRST).is_ok(), "{before}");
            assert!(all.check(&node, Level(22)).is_ok());
            node.conditions[0].message = format!("{before}it reported Off");
            assert!(all.check(&node, FIRST).is_err() && all.check(&node, SECOND).is_err());
        }
    }

    #[test]
    fn a_node_that_is_gone_is_forgotten() {
        let mut all = Contradictions::default();
        all.reported(&ready(), FIRST, PowerState::Off, at(10));
        all.renewed(&ready(), at(25));
        all.reported(&ready(), SECOND, PowerState::Off, at(26));
        all.forget(|node| node != "n");
        assert!(all.check(&ready(), FIRST).is_ok());
        assert!(!all.renewed(&ready(), at(100)));
    }
}
