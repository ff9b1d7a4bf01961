//! A node that is Ready is not powered off before its pods are gone.

use super::*;
use crate::{api::fence::DrainReport, policy::Fast};

#[test]
fn a_ready_node_is_powered_only_after_a_whole_drain() {
    let mut fixture = Fixture::new();
    set_condition(fixture.node(), "Ready", ConditionStatus::True, "", at(0));
    for (done, blocked) in [(false, true), (true, false)] {
        fixture.open(Phase::Waiting).status.drain = Some(DrainReport { done, refused_evictions: Vec::new(), left: 0 });
        assert_eq!(reasons(&fixture.all_blockers().power).contains(&"NodeReady"), blocked);
    }
}

#[test]
fn a_ready_node_whose_kubelet_is_silent_is_not_alive() {
    for (fast, stale, blocked) in [(true, 14, true), (true, 15, false), (false, 39, true), (false, 40, false)] {
        let mut fixture = Fixture::new();
        set_condition(fixture.node(), "Ready", ConditionStatus::True, "", at(0));
        let seen = at(1000 - stale);
        let lease = LeaseView {
            resource_version: String::new(),
            holder: String::new(),
            renewed: None,
            duration: Duration::from_secs(10),
            change_seen_at: seen,
        };
        fixture.snapshot.kubelet_leases.insert("n0".into(), lease);
        fixture.policy.fast = fast.then_some(Fast { silent_for: Duration::from_secs(15), unreachable_from: 2 });
        assert_eq!(reasons(&fixture.all_blockers().power).contains(&"NodeReady"), blocked, "{fast} {stale}");
    }
}
