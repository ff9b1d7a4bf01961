//! How power is cut once it may be: the methods of isolation before it, a crash dump that is waited for, and what the record
//! remembers of the node right before.

use std::time::Duration;

use super::{
    fixture::Fixture,
    parts::{plan, pod, span, steps},
};
use crate::{
    action::{Action, Op, ReversibleOp},
    api::fence::{Blocker, NodeFence, Phase},
    facts::{ConditionStatus, Volume, VolumeClaim},
    fence::Next,
    snapshot::FencePlan,
    time::Moment,
};

/// Silent for a minute: its power may be cut.
fn silent() -> Fixture {
    let mut fixture = Fixture::new(steps(&["power"]));
    fixture.fence.status.phase = Phase::AwaitGuards;
    fixture.now.moment = fixture.now.moment.plus(Duration::from_secs(60));
    fixture.entered = fixture.now.moment;
    fixture.node.as_mut().unwrap().conditions[0].status = ConditionStatus::Unknown;
    fixture
}

fn saved(fixture: &Fixture) -> NodeFence {
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    *fence
}

/// The methods of isolation are what comes next.
fn isolates(fixture: &Fixture) -> bool {
    matches!(fixture.next(), Next::Act(Action::Perform { op: Op::Reversible(ReversibleOp::Methods(_)), .. }))
}

#[test]
fn the_methods_of_isolation_run_before_the_power_is_cut_and_again_after_a_failure() {
    for (isolation, isolated, failures, expected) in
        [("port", false, 0, true), ("port", true, 0, false), ("port", true, 1, true), ("", false, 0, false)]
    {
        let mut fixture = silent();
        let isolation = if isolation.is_empty() { Vec::new() } else { vec![isolation.to_owned()] };
        fixture.gathered.methods = Some(Ok(FencePlan { isolation, ..plan() }));
        (fixture.fence.status.isolated, fixture.fence.status.failures) = (isolated, failures);
        assert_eq!(isolates(&fixture), expected, "{isolated} {failures}: {:?}", fixture.next());
        if !expected {
            assert_eq!(saved(&fixture).status.phase, Phase::PoweringOff);
        }
    }
}

/// What forbids a cordon forbids one by a method too, and no other method.
#[test]
fn a_cordon_by_a_method_asks_the_guards_of_a_cordon() {
    for (method, waits) in [("port", false), ("cordon", true), ("mark-unschedulable", true)] {
        let mut fixture = silent();
        fixture.gathered.methods = Some(Ok(FencePlan { isolation: vec![method.to_owned()], ..plan() }));
        fixture.guard_blockers.isolate = vec![Blocker::new("BudgetCluster", "9 of 9")];
        assert_eq!(isolates(&fixture), !waits, "{method}: {:?}", fixture.next());
        if waits {
            assert_eq!(saved(&fixture).status.blocked_by, fixture.guard_blockers.isolate);
        }
        fixture.guard_blockers.isolate.clear();
        assert!(isolates(&fixture), "{method}");
    }
}

/// Once in a fence, for as long as the step has it, and while the kernel of the dump was heard within half a minute.
#[test]
fn a_node_that_writes_its_crash_dump_is_waited_for_once_and_not_without_a_time() {
    for (wait, heard, waited, expected) in [
        ("1m", Some(29), false, Phase::KdumpWait),
        ("1m", Some(30), false, Phase::PoweringOff),
        ("1m", None, false, Phase::PoweringOff),
        ("0s", Some(1), false, Phase::PoweringOff),
        ("1m", Some(1), true, Phase::PoweringOff),
    ] {
        let mut fixture = silent();
        fixture.fence.spec.steps[0].power_cycle.as_mut().unwrap().kdump_wait = span(wait);
        fixture.gathered.dumping = heard.map(|ago| Moment(fixture.now.moment.0 - Duration::from_secs(ago)));
        fixture.fence.status.dump_waited = waited;
        assert_eq!(saved(&fixture).status.phase, expected, "{wait} {heard:?} {waited}");
    }
}

#[test]
fn the_wait_for_a_dump_ends_with_the_dump_or_with_its_time() {
    for (heard, elapsed, waits) in [(Some(29), 59, true), (Some(30), 59, false), (None, 1, false), (Some(1), 60, false)]
    {
        let mut fixture = silent();
        fixture.fence.spec.steps[0].power_cycle.as_mut().unwrap().kdump_wait = span("1m");
        fixture.fence.status.phase = Phase::KdumpWait;
        fixture.now.moment = fixture.entered.plus(Duration::from_secs(elapsed));
        fixture.gathered.dumping = heard.map(|ago| Moment(fixture.now.moment.0 - Duration::from_secs(ago)));
        let status = saved(&fixture).status;
        let (phase, is_waited) = if waits { (Phase::KdumpWait, false) } else { (Phase::AwaitGuards, true) };
        assert_eq!((status.phase, status.dump_waited), (phase, is_waited), "{heard:?} {elapsed}");
        assert_eq!(status.blocked_by.iter().any(|blocker| blocker.reason == "Dumping"), waits);
    }
}

/// Those are the pods whose processes the old boot may still run once the storage is back.
#[test]
fn the_pods_of_a_storage_are_remembered_before_it_is_cut_off() {
    let on = |name: &str, class: &str| {
        let mut pod = pod(name);
        pod.volumes = vec![Volume::Claim(VolumeClaim { storage_class: Some(class.into()), ..VolumeClaim::default() })];
        pod
    };
    let mut elsewhere = on("elsewhere", "ceph");
    elsewhere.node = "worker-2".into();
    for (storage, expected) in [(Some("ceph"), vec!["uid-db"]), (None, vec![])] {
        let mut fixture = silent();
        fixture.gathered.methods = Some(Ok(FencePlan { storage_only: storage.map(str::to_owned), ..plan() }));
        let pods = vec![on("db", "ceph"), on("cache", "local"), pod("web"), elsewhere.clone()];
        fixture.gathered.pods = Some((fixture.now.moment, pods));
        let status = saved(&fixture).status;
        assert_eq!(status.phase, Phase::PoweringOff);
        assert_eq!(
            (status.storage_only.as_deref(), status.storage_pods),
            (storage, expected.iter().map(|uid| (*uid).to_owned()).collect())
        );
    }
}
