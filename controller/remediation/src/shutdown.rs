//! Shutdowns that a node's own kubelet or agent announced before it fell silent: an orderly reboot has some time before it is
//! taken for a failure. A panic, a watchdog's reset and a loss of power are announced by none.
//!
//! What a node reports of itself may be a lie, so that this is bounded: once for each boot, from when it was first seen, and a
//! few times a day for each name of a node.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    facts::{ConditionStatus, Node},
    time::Moment,
};

/// What the kubelet's graceful shutdown adds to the message of Ready=False (`pkg/kubelet/nodeshutdown`, `ShutdownStatus`).
const KUBELETS_MESSAGE: &str = "node is shutting down";
/// So many boots of one node are given time within [`WINDOW`].
const MOST: usize = 3;
const WINDOW: Duration = Duration::from_secs(24 * 3600);

/// What one replica has seen, whether it led or not.
#[derive(Debug, Clone, Default)]
pub struct Shutdowns(BTreeMap<String, Vec<Announced>>);

/// A boot that is about to end.
#[derive(Debug, Clone)]
struct Announced {
    boot_id: String,
    at: Moment,
}

impl Shutdowns {
    /// The Node as it is now. What was announced is remembered: the condition is overwritten when the kubelet is silent.
    pub fn see(&mut self, node: &Node, now: Moment) {
        if announces(node) {
            self.announce(&node.name, &node.boot_id, now);
        }
    }

    /// The node's agent, or its kubelet, reports that this boot is about to end.
    pub fn announce(&mut self, node: &str, boot_id: &str, now: Moment) {
        if boot_id.is_empty() {
            return;
        }
        let known = self.0.entry(node.to_owned()).or_default();
        known.retain(|one| now.since(one.at) < WINDOW);
        if known.len() < MOST && known.iter().all(|one| one.boot_id != boot_id) {
            known.push(Announced { boot_id: boot_id.to_owned(), at: now });
        }
    }

    /// Since when it is known that the boot which the Node names is about to end, for all nodes of which that is so.
    #[must_use]
    pub fn of(&self, nodes: &BTreeMap<String, Node>) -> BTreeMap<String, Moment> {
        let of_node = |(name, known): (&String, &Vec<Announced>)| {
            let boot_id = &nodes.get(name)?.boot_id;
            let announced = known.iter().find(|one| one.boot_id == *boot_id)?;
            Some((name.clone(), announced.at))
        };
        self.0.iter().filter_map(of_node).collect()
    }
}

/// By the kubelet itself: another client's condition announces nothing.
fn announces(node: &Node) -> bool {
    node.condition("Ready").is_some_and(|ready| {
        ready.status == ConditionStatus::False && ready.is_own_report && ready.message.contains(KUBELETS_MESSAGE)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, node, set_condition};

    /// As its kubelet reports it, in its boot of this number.
    fn shutting_down(boot: u32) -> Node {
        let mut node = node("n");
        node.boot_id = format!("boot-{boot}");
        set_condition(&mut node, "Ready", ConditionStatus::False, "KubeletNotReady", at(0));
        let ready = &mut node.conditions[0];
        ready.message = "[container runtime is down, node is shutting down]".into();
        ready.is_own_report = true;
        node
    }

    fn since(shutdowns: &Shutdowns, node: &Node) -> Option<Moment> {
        shutdowns.of(&[("n".to_owned(), node.clone())].into()).remove("n")
    }

    #[test]
    fn what_was_announced_is_known_when_the_kubelet_is_silent_and_until_the_next_boot() {
        let mut shutdowns = Shutdowns::default();
        let mut node = shutting_down(1);
        shutdowns.see(&node, at(100));
        // kube-controller-manager writes over it.
        set_condition(&mut node, "Ready", ConditionStatus::Unknown, "NodeStatusUnknown", at(160));
        shutdowns.see(&node, at(160));
        assert_eq!(since(&shutdowns, &node), Some(at(100)));
        node.boot_id = "boot-2".into();
        assert_eq!(since(&shutdowns, &node), None, "it is back");
    }

    #[test]
    fn a_boot_that_announces_itself_again_has_no_more_time() {
        let mut shutdowns = Shutdowns::default();
        for second in [100, 400, 5000] {
            shutdowns.see(&shutting_down(1), at(second));
        }
        assert_eq!(since(&shutdowns, &shutting_down(1)), Some(at(100)));
    }

    #[test]
    fn a_node_has_time_for_three_boots_a_day() {
        let mut shutdowns = Shutdowns::default();
        (1..=5).for_each(|boot| shutdowns.see(&shutting_down(boot), at(1000 * u64::from(boot))));
        assert_eq!(since(&shutdowns, &shutting_down(3)), Some(at(3000)));
        assert_eq!(since(&shutdowns, &shutting_down(4)), None);
        shutdowns.see(&shutting_down(6), at(1000 + 24 * 3600));
        assert_eq!(since(&shutdowns, &shutting_down(6)), Some(at(1000 + 24 * 3600)));
    }

    /// Both report the same shutdown, and an annotation of a boot before is still there.
    #[test]
    fn what_the_agent_announces_is_of_the_boot_that_it_names() {
        let mut shutdowns = Shutdowns::default();
        shutdowns.announce("n", "boot-1", at(100));
        shutdowns.see(&shutting_down(1), at(130));
        assert_eq!(since(&shutdowns, &shutting_down(1)), Some(at(100)));
        assert_eq!(since(&shutdowns, &shutting_down(2)), None);
        let mut others = Shutdowns::default();
        others.announce("n", "", at(100));
        others.announce("m", "boot-1", at(100));
        assert_eq!(since(&others, &shutting_down(1)), None);
    }

    #[test]
    fn nothing_else_announces_a_shutdown() {
        type Change = fn(&mut Node);
        let cases: [(&str, Change); 4] = [
            ("another client's", |node| node.conditions[0].is_own_report = false),
            ("ready", |node| node.conditions[0].status = ConditionStatus::True),
            ("another fault", |node| node.conditions[0].message = "container runtime is down".into()),
            ("no boot", |node| node.boot_id.clear()),
        ];
        for (case, change) in cases {
            let mut shutdowns = Shutdowns::default();
            let mut node = shutting_down(1);
            change(&mut node);
            shutdowns.see(&node, at(100));
            assert_eq!(since(&shutdowns, &node), None, "{case}");
        }
    }
}
