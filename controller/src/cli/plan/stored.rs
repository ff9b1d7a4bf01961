//! What is shown of a node in hand is what its leader wrote into the record: the leader asked BMCs, pods and other
//! hosts, not the caller of the plan.

use nodewell_remediation::{
    api::fence::Hold,
    guard::reason::{CLAIMED_BY_PEER, ETCD_UNKNOWN, KILL_SWITCH, NODE_HELD, POLICY_UNREADABLE},
    snapshot::Snapshot,
    verdict::Verdict,
};

/// Any client that can read the cluster sees these at once.
const SEEN: [&str; 4] = [KILL_SWITCH, NODE_HELD, POLICY_UNREADABLE, CLAIMED_BY_PEER];

/// What is not asked for a plan, and may hold all the same.
pub(super) const NOT_ASKED: [&str; 2] = [
    "not asked by a plan: etcd, this host's probes, its reach of other nodes;",
    "the controller that leads asks them, and reports EtcdQuorum and SelfSuspicion",
];

/// Puts the stored holds of records in the place of what cannot be known here, and reports that etcd was not asked.
pub(super) fn take_over(snapshot: &Snapshot, verdicts: &mut [Verdict]) {
    for verdict in verdicts {
        if let Some(fence) = snapshot.fences.get(&verdict.node) {
            let mut holds = fence.status.hold.as_ref().map(apart).unwrap_or_default();
            verdict.holds.retain(|hold| SEEN.contains(&hold.reason.as_str()));
            let live = std::mem::take(&mut verdict.holds);
            holds.retain(|hold| live.iter().all(|other| other.reason != hold.reason));
            verdict.holds = live.into_iter().chain(holds).collect();
        }
        for hold in verdict.holds.iter_mut().filter(|hold| hold.reason == ETCD_UNKNOWN) {
            if !snapshot.fences.contains_key(&verdict.node) {
                "a plan does not ask etcd; the controller that leads does".clone_into(&mut hold.message);
            }
        }
    }
}

/// A record has all of its holds in one, a line for each.
fn apart(hold: &Hold) -> Vec<Hold> {
    let is_word = |word: &str| {
        word.starts_with(|letter: char| letter.is_ascii_uppercase()) && word.chars().all(char::is_alphanumeric)
    };
    let lines = hold.message.lines().map(|line| line.split_once(": ").filter(|(word, _)| is_word(word)));
    let holds: Option<Vec<Hold>> = lines.map(|line| line.map(|(word, text)| Hold::new(word, text))).collect();
    holds.filter(|holds| !holds.is_empty()).unwrap_or_else(|| vec![hold.clone()])
}

#[cfg(test)]
mod tests {
    use nodewell_remediation::api::{
        Meta,
        fence::{NodeFence, NodeFenceSpec, NodeFenceStatus, Phase},
    };

    use super::*;

    fn held(hold: Option<Hold>) -> Snapshot {
        let fence = NodeFence {
            metadata: Meta { name: "n1".into(), ..Meta::default() },
            spec: NodeFenceSpec { node_name: "n1".into(), ..NodeFenceSpec::default() },
            status: NodeFenceStatus { hold, phase: Phase::Guarded, ..NodeFenceStatus::default() },
        };
        Snapshot { fences: [("n1".to_owned(), fence)].into(), ..Snapshot::default() }
    }

    fn shown(snapshot: &Snapshot, node: &str, holds: &[(&str, &str)]) -> Vec<(String, String)> {
        let holds = holds.iter().map(|(reason, message)| Hold::new(reason, *message)).collect();
        let mut verdicts = [Verdict { node: node.into(), holds, ..Verdict::default() }];
        take_over(snapshot, &mut verdicts);
        verdicts[0].holds.iter().map(|hold| (hold.reason.clone(), hold.message.clone())).collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned())).collect()
    }

    const INVENTED: (&str, &str) = ("NoMethods", "the node's fence methods have not been read yet");

    #[test]
    fn a_record_shows_the_holds_that_its_leader_wrote() {
        let snapshot = held(Some(Hold::new("BudgetZone", "BudgetZone: zone a: 2 of 1\nFenceNotReady: no ipmitool")));
        let expected = [("BudgetZone", "zone a: 2 of 1"), ("FenceNotReady", "no ipmitool")];
        assert_eq!(shown(&snapshot, "n1", &[INVENTED]), pairs(&expected));
        let stopped = ("KillSwitch", "rack 4");
        let all = [stopped, expected[0], expected[1]];
        assert_eq!(shown(&snapshot, "n1", &[INVENTED, stopped]), pairs(&all), "seen here: reported at once");
        assert_eq!(shown(&held(None), "n1", &[INVENTED]), []);
    }

    #[test]
    fn a_sentence_with_a_colon_is_no_list_of_holds() {
        let snapshot = held(Some(Hold::new("Attempts", "the agent said: no such plug")));
        assert_eq!(shown(&snapshot, "n1", &[]), pairs(&[("Attempts", "the agent said: no such plug")]));
    }

    #[test]
    fn of_etcd_it_is_said_that_it_was_not_asked() {
        let listed = shown(&held(None), "cp1", &[("EtcdUnknown", "not known")]);
        assert_eq!(listed, pairs(&[("EtcdUnknown", "a plan does not ask etcd; the controller that leads does")]));
    }
}
