//! What is shown of a node under remediation is what its leader wrote into the record: the leader asked BMCs, pods and
//! other hosts, not the caller of the plan.

use nodewell_remediation::{
    api::fence::Blocker,
    guard::reason::{CLAIMED_BY_PEER, ETCD_UNKNOWN, KILL_SWITCH, POLICY_UNREADABLE, REMEDIATION_SKIPPED},
    node_report::NodeReport,
    snapshot::Snapshot,
};

/// Any client that can read the cluster sees these at once.
const SEEN: [&str; 4] = [KILL_SWITCH, REMEDIATION_SKIPPED, POLICY_UNREADABLE, CLAIMED_BY_PEER];

/// What is not asked for a plan, and may block all the same.
pub(super) const NOT_ASKED: [&str; 2] = [
    "not asked by a plan: etcd, this host's probes, its reach of other nodes;",
    "the controller that leads asks them, and reports EtcdQuorum and ControllerIsolated",
];

/// Replaces what cannot be known here by the stored blockers of records, and reports that etcd was not asked.
pub(super) fn take_over(snapshot: &Snapshot, node_reports: &mut [NodeReport]) {
    for node_report in node_reports {
        if let Some(fence) = snapshot.fences.get(&node_report.node) {
            let mut blockers = fence.status.blocked_by.clone();
            node_report.blockers.retain(|blocker| SEEN.contains(&blocker.reason.as_str()));
            let live = std::mem::take(&mut node_report.blockers);
            blockers.retain(|blocker| live.iter().all(|other| other.reason != blocker.reason));
            node_report.blockers = live.into_iter().chain(blockers).collect();
        }
        for blocker in node_report.blockers.iter_mut().filter(|blocker| blocker.reason == ETCD_UNKNOWN) {
            if !snapshot.fences.contains_key(&node_report.node) {
                *blocker = Blocker::plain("EtcdUnknown/plan");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use nodewell_remediation::api::{
        Meta,
        fence::{NodeFence, NodeFenceSpec, NodeFenceStatus, Phase},
    };

    use super::*;

    fn blocked(blockers: &[(&str, &str)]) -> Snapshot {
        let fence = NodeFence {
            metadata: Meta { name: "n1".into(), ..Meta::default() },
            spec: NodeFenceSpec { node_name: "n1".into(), ..NodeFenceSpec::default() },
            status: NodeFenceStatus {
                blocked_by: listed(blockers),
                phase: Phase::AwaitGuards,
                ..NodeFenceStatus::default()
            },
        };
        Snapshot { fences: [("n1".to_owned(), fence)].into(), ..Snapshot::default() }
    }

    fn listed(blockers: &[(&str, &str)]) -> Vec<Blocker> {
        blockers.iter().map(|(reason, message)| Blocker::new(reason, *message)).collect()
    }

    fn shown(snapshot: &Snapshot, node: &str, blockers: &[(&str, &str)]) -> Vec<(String, String)> {
        let blockers = listed(blockers);
        let mut node_reports = [NodeReport { node: node.into(), blockers, ..NodeReport::default() }];
        take_over(snapshot, &mut node_reports);
        node_reports[0].blockers.iter().map(|blocker| (blocker.reason.clone(), blocker.message.clone())).collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned())).collect()
    }

    const INVENTED: (&str, &str) = ("NoMethods", "the node's fence methods have not been read yet");

    #[test]
    fn a_record_shows_the_blockers_that_its_leader_wrote() {
        let expected = [("BudgetZone", "zone a: 2 of 1"), ("FenceNotReady", "no ipmitool")];
        let snapshot = blocked(&expected);
        assert_eq!(shown(&snapshot, "n1", &[INVENTED]), pairs(&expected));
        let stopped = ("KillSwitch", "rack 4");
        let all = [stopped, expected[0], expected[1]];
        assert_eq!(shown(&snapshot, "n1", &[INVENTED, stopped]), pairs(&all), "seen here: reported at once");
        assert_eq!(shown(&blocked(&[]), "n1", &[INVENTED]), []);
    }

    #[test]
    fn the_plan_reports_that_etcd_was_not_asked() {
        let listed = shown(&blocked(&[]), "cp1", &[("EtcdUnknown", "not known")]);
        assert_eq!(listed, pairs(&[("EtcdUnknown", "a plan does not ask etcd; the controller that leads does")]));
    }
}
