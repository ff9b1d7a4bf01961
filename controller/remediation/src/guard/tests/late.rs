//! Kubelets that are heard late after they were out of hearing.

use super::*;

fn blocked(over: Option<u64>, renewed: Option<u64>, ready: ConditionStatus) -> Vec<String> {
    let mut fixture = Fixture::new();
    fixture.snapshot.host.heard_again = over.map(at);
    set_condition(fixture.node(), "Ready", ready, "", at(940));
    if let Some(seen) = renewed {
        let lease = LeaseView {
            resource_version: String::new(),
            holder: "n0".into(),
            renewed: None,
            duration: Duration::from_secs(40),
            change_seen_at: at(seen),
        };
        fixture.snapshot.kubelet_leases.insert("n0".into(), lease);
    }
    let blockers = fixture.all_blockers();
    assert_eq!(reasons(&blockers.isolate), reasons(&blockers.drain));
    blockers.isolate.iter().map(|blocker| format!("{}: {}", blocker.reason, blocker.message)).collect()
}

/// The tests' now is 1,000.
#[test]
fn a_node_has_time_to_renew_and_then_to_report() {
    use ConditionStatus::{False, Unknown};
    for (over, renewed, ready, left) in [
        (None, Some(995), Unknown, None),
        (Some(999), None, Unknown, Some("29s")),
        (Some(971), Some(900), False, Some("1s")),
        (Some(970), Some(900), Unknown, None),
        (Some(970), None, Unknown, None),
        (Some(970), Some(969), Unknown, None),
        (Some(970), Some(970), Unknown, Some("1m")),
        (Some(911), Some(985), Unknown, Some("1s")),
        (Some(910), Some(985), Unknown, None),
        (Some(970), Some(985), False, None),
    ] {
        let found = blocked(over, renewed, ready);
        match left {
            None => assert!(found.is_empty(), "{over:?} {renewed:?} {ready:?}: {found:?}"),
            Some(left) => assert!(
                matches!(&found[..], [one] if one.starts_with("KubeletLate: ") && one.contains(left)),
                "{over:?} {renewed:?} {ready:?}: {found:?}"
            ),
        }
    }
}

/// What has begun goes on, and what is to be given back is.
#[test]
fn what_has_begun_is_not_stopped() {
    let mut fixture = Fixture::new();
    fixture.snapshot.host.heard_again = Some(at(999));
    for phase in [Phase::PoweringOff, Phase::OffConfirmed, Phase::PodsReleased, Phase::PoweringOn, Phase::AwaitReady] {
        fixture.open(phase);
        assert_eq!(fixture.all_blockers(), GuardBlockers::default(), "{phase:?}");
    }
    fixture.open(Phase::Draining).status.drain_begun_at = Some(wall(990));
    let blockers = fixture.all_blockers();
    assert_eq!((blockers.isolate.len(), blockers.drain.len()), (0, 0));
    assert_eq!(reasons(&blockers.power), ["KubeletLate"]);
}
