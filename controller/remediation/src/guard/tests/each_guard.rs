//! Each guard blocks with its own reason, and all of them are listed.

use super::*;
use crate::api;

#[test]
fn nothing_blocks_a_dead_node_in_a_calm_cluster() {
    assert_eq!(Fixture::new().all_blockers(), GuardBlockers::default());
}

/// What a change of the cluster makes the guards answer to isolate, drain and power.
#[test]
fn each_guard_blocks_with_its_own_reason() {
    type Change = fn(&mut Fixture);
    let all = [true; 3];
    let disruptive = [false, true, true];
    let power = [false, false, true];
    let cases: &[(&str, [bool; 3], Change)] = &[
        ("NotLeading", all, |fixture| fixture.snapshot.epoch = 0),
        ("DryRun", all, |fixture| fixture.snapshot.dry_run = true),
        ("KillSwitch", all, |fixture| fixture.snapshot.stopped = Some("/etc/nodewell/pause".into())),
        ("CacheNotSynced", all, |fixture| fixture.snapshot.host.synced = false),
        ("Observe", all, |fixture| fixture.policy.mode = Mode::Observe),
        ("Paused", all, |fixture| fixture.policy.mode = Mode::Paused),
        ("PolicyUnreadable", all, |fixture| fixture.unreadable = Some("line 3")),
        ("PredicateError", all, |fixture| fixture.error = Some("no such key")),
        ("RemediationSkipped", all, |fixture| {
            drop(fixture.node().annotations.insert(api::SKIP_REMEDIATION.into(), "tea".into()))
        }),
        ("RemediationSkipped", all, |fixture| {
            drop(fixture.open(Phase::Pending).metadata.annotations.insert(api::SKIP_REMEDIATION.into(), "tea".into()));
        }),
        ("Aborted", all, |fixture| fixture.open(Phase::Pending).spec.abort = true),
        ("NodeGone", all, |fixture| fixture.open(Phase::Pending).spec.node_uid = "another".into()),
        ("OwnHost", all, |fixture| fixture.snapshot.host.node = Some("n0".into())),
        ("ShutdownAnnounced", all, |fixture| {
            fixture.snapshot.shutdowns.insert("n0".into(), at(900));
        }),
        ("OnlyReplica", all, |fixture| {
            (fixture.snapshot.host.node, fixture.snapshot.host.is_only) = (Some("n0".into()), true);
        }),
        ("Autoscaler", all, |fixture| taint(fixture, "ToBeDeletedByClusterAutoscaler")),
        ("Autoscaler", all, |fixture| taint(fixture, "karpenter.sh/disrupted")),
        ("Autoscaler", all, |fixture| fixture.node().deleting = true),
        ("ClaimedByPeer", all, |fixture| label(fixture, "remediation.medik8s.io/exclude-from-remediation", "true")),
        ("ClaimedByPeer", all, |fixture| annotate(fixture, "cluster.x-k8s.io/skip-remediation")),
        ("ClaimedByPeer", all, |fixture| annotate(fixture, "cluster.x-k8s.io/paused")),
        ("ClaimedByPeer", all, |fixture| annotate(fixture, "weave.works/kured-reboot-in-progress")),
        ("ClaimedByPeer", all, |fixture| {
            drop(fixture.snapshot.peer_leases.held.insert("n0".into(), "held by nhc".into()))
        }),
        ("ClaimedByPeer", all, |fixture| fixture.snapshot.peer_leases.unreadable = Some("forbidden".into())),
        ("NodeUpdating", all, |fixture| updates(fixture, "machineconfiguration.openshift.io/state", "Working")),
        ("NodeUpdating", all, |fixture| updates(fixture, "machineconfiguration.openshift.io/state", "Rebooting")),
        ("NodeUpdating", all, |fixture| {
            updates(fixture, "flatcar-linux-update.v1.flatcar-linux.net/reboot-in-progress", "true")
        }),
        ("NewNode", all, |fixture| fixture.node().created = wall(800)),
        ("NewNode", all, |fixture| fixture.node().created = wall(5000)),
        ("Storm", all, |fixture| fixture.storms = vec![Blocker::new(reason::STORM, "")]),
        ("ControlPlane", all, |fixture| label(fixture, CONTROL_PLANE[0], "")),
        ("ControlPlane", all, |fixture| {
            control_plane(fixture, Quorum::Members { healthy: 3, total: 3 });
            let other = fixture.snapshot.nodes.get_mut("n1").unwrap();
            other.labels.insert(CONTROL_PLANE[0].into(), String::new());
            kill(other);
        }),
        ("EtcdUnknown", disruptive, |fixture| control_plane(fixture, Quorum::Unknown)),
        ("EtcdQuorum", disruptive, |fixture| control_plane(fixture, Quorum::Members { healthy: 2, total: 3 })),
        ("EtcdQuorum", disruptive, |fixture| control_plane(fixture, Quorum::Members { healthy: 0, total: 0 })),
        ("PodRate", disruptive, |fixture| {
            fixture.policy.pods = Rate { count: 10, window: Duration::from_secs(60) };
            fixture.history.charge_pods("p", "n5", 10, at(990));
        }),
        ("PodsUnknown", disruptive, |fixture| {
            fixture.open(Phase::Waiting);
            fixture.snapshot.gathered.clear();
        }),
        ("PowerCycleLimit", power, |fixture| fixture.open(Phase::Waiting).status.cycles = vec![wall(100), wall(500)]),
        ("NodeReady", power, |fixture| set_condition(fixture.node(), "Ready", ConditionStatus::True, "", at(0))),
    ];
    for &(reason, levels, change) in cases {
        let mut fixture = Fixture::new();
        change(&mut fixture);
        let guard_blockers = fixture.all_blockers();
        let blocked = [&guard_blockers.isolate, &guard_blockers.drain, &guard_blockers.power]
            .map(|blockers| reasons(blockers).contains(&reason));
        assert_eq!(blocked, levels, "{reason}: {guard_blockers:?}");
        assert_eq!(guard_blockers.power.len(), 1, "{reason} alone: {guard_blockers:?}");
    }
}

fn taint(fixture: &mut Fixture, key: &str) {
    fixture.node().taints.push(Taint { key: key.into(), value: String::new(), effect: Effect::NoSchedule });
}

fn annotate(fixture: &mut Fixture, key: &str) {
    fixture.node().annotations.insert(key.into(), String::new());
}

fn updates(fixture: &mut Fixture, key: &str, value: &str) {
    fixture.node().annotations.insert(key.into(), value.into());
}

/// They stand on every node all the time.
#[test]
fn marks_of_an_update_that_is_over_or_failed_block_nothing() {
    for (key, value) in [
        ("machineconfiguration.openshift.io/state", "Done"),
        ("machineconfiguration.openshift.io/state", "Degraded"),
        ("machineconfiguration.openshift.io/state", "Unreconcilable"),
        ("machineconfiguration.openshift.io/state", ""),
        ("flatcar-linux-update.v1.flatcar-linux.net/reboot-in-progress", "false"),
        ("flatcar-linux-update.v1.flatcar-linux.net/reboot-needed", "true"),
    ] {
        let mut fixture = Fixture::new();
        updates(&mut fixture, key, value);
        assert_eq!(fixture.all_blockers(), GuardBlockers::default(), "{key}={value}");
    }
}

#[test]
fn all_guards_are_listed_not_only_the_first() {
    let mut fixture = Fixture::new();
    fixture.snapshot.dry_run = true;
    fixture.snapshot.stopped = Some("a file".into());
    fixture.policy.mode = Mode::Observe;
    fixture.policy.budget.cluster = CountOrPercent::Count(0);
    label(&mut fixture, CONTROL_PLANE[1], "");
    annotate(&mut fixture, api::SKIP_REMEDIATION);
    let power = fixture.all_blockers().power;
    assert_eq!(
        reasons(&power),
        ["DryRun", "KillSwitch", "Observe", "RemediationSkipped", "ControlPlane", "BudgetCluster"]
    );
}

#[test]
fn every_message_has_its_numbers() {
    let mut fixture = Fixture::new();
    fixture.policy.budget.cluster = CountOrPercent::Percent(20);
    kill(fixture.snapshot.nodes.get_mut("n1").unwrap());
    kill(fixture.snapshot.nodes.get_mut("n2").unwrap());
    let power = fixture.all_blockers().power;
    assert_eq!(power.len(), 1);
    assert_eq!(
        power[0].message,
        "with this node 3 of 10 nodes would be unavailable (limit 2 living by budget.maxUnavailable, 10 dead by budget.maxDead); bring nodes back first"
    );
}
