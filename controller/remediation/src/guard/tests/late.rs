//! Kubelets that are heard late after they were out of hearing.

use super::*;

fn blocked(absence: Option<(u64, u64)>, renewed: Option<u64>, ready: ConditionStatus) -> Vec<String> {
    blocked_by(absence, renewed.map(|seen| (seen, 40)), ready)
}

/// The Lease was renewed then, and has a duration.
fn blocked_by(absence: Option<(u64, u64)>, lease: Option<(u64, u64)>, ready: ConditionStatus) -> Vec<String> {
    let mut fixture = Fixture::new();
    fixture.snapshot.host.absence = absence.map(|(since, until)| Absence { since: at(since), until: at(until) });
    set_condition(fixture.node(), "Ready", ready, "", at(940));
    if let Some((seen, duration)) = lease {
        let lease = LeaseView {
            resource_version: String::new(),
            holder: "n0".into(),
            renewed: None,
            duration: Duration::from_secs(duration),
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
    for (absence, renewed, ready, left) in [
        (None, Some(995), Unknown, None),
        (Some((980, 999)), None, False, Some("29s")),
        (Some((940, 971)), Some(935), False, Some("1s")),
        (Some((940, 970)), Some(935), Unknown, None),
        // Without a Lease it may be renewing.
        (Some((940, 970)), None, False, None),
        (Some((940, 970)), None, Unknown, Some("1m more to be heard")),
        (Some((900, 910)), None, Unknown, None),
        // It was silent before the others were.
        (Some((940, 990)), Some(920), Unknown, Some("20s")),
        (Some((940, 990)), Some(919), Unknown, None),
        // What is known of it may be of before it renewed.
        (Some((980, 990)), Some(995), False, Some("20s")),
        (Some((960, 970)), Some(995), False, None),
        // By the list that ended it.
        (Some((980, 990)), Some(981), Unknown, Some("1m20s")),
        (Some((900, 911)), Some(985), Unknown, Some("1s")),
        (Some((900, 910)), Some(985), Unknown, None),
        // It renewed, and fell silent again.
        (Some((960, 970)), Some(981), Unknown, Some("1m")),
        (Some((960, 970)), Some(980), Unknown, None),
        (Some((960, 980)), Some(979), Unknown, Some("10s")),
    ] {
        let found = blocked(absence, renewed, ready);
        match left {
            None => assert!(found.is_empty(), "{absence:?} {renewed:?} {ready:?}: {found:?}"),
            Some(left) => assert!(
                matches!(&found[..], [one] if one.starts_with("KubeletLate: ") && one.contains(left)),
                "{absence:?} {renewed:?} {ready:?}: {found:?}"
            ),
        }
    }
}

/// What is not known makes nothing bolder.
#[test]
fn a_kubelet_that_renews_and_whose_ready_is_not_known_may_be_late() {
    let mut fixture = Fixture::new();
    fixture.snapshot.host.absence = Some(Absence { since: at(940), until: at(960) });
    let lease = LeaseView {
        resource_version: String::new(),
        holder: "n0".into(),
        renewed: None,
        duration: Duration::from_secs(40),
        change_seen_at: at(995),
    };
    fixture.snapshot.kubelet_leases.insert("n0".into(), lease);
    fixture.node().conditions.retain(|condition| condition.kind != "Ready");
    assert_eq!(reasons(&fixture.all_blockers().isolate), ["KubeletLate"]);
}

/// `nodeLeaseDurationSeconds: 120`: renewed every 30 s, so that one of 60 s lived.
#[test]
fn a_kubelet_that_renews_seldom_is_no_silent_one() {
    use ConditionStatus::Unknown;
    for (absence, renewed, left) in [
        ((960, 990), 900, Some("20s")),
        ((960, 990), 899, None),
        ((930, 950), 941, Some("40s")),
        ((930, 950), 940, None),
    ] {
        let found = blocked_by(Some(absence), Some((renewed, 120)), Unknown);
        assert_eq!(
            found.first().map(|one| left.is_some_and(|left| one.contains(left))),
            left.map(|_| true),
            "{found:?}"
        );
    }
}

/// What has begun goes on, and what is to be given back is.
#[test]
fn what_has_begun_is_not_stopped() {
    let mut fixture = Fixture::new();
    fixture.snapshot.host.absence = Some(Absence { since: at(980), until: at(999) });
    for phase in [Phase::PoweringOff, Phase::OffConfirmed, Phase::PodsReleased, Phase::PoweringOn, Phase::AwaitReady] {
        fixture.open(phase);
        assert_eq!(fixture.all_blockers(), GuardBlockers::default(), "{phase:?}");
    }
    fixture.open(Phase::Draining).status.drain_begun_at = Some(wall(990));
    let blockers = fixture.all_blockers();
    assert_eq!((blockers.isolate.len(), blockers.drain.len()), (0, 0));
    assert_eq!(reasons(&blockers.power), ["KubeletLate"]);
}
