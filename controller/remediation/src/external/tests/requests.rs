//! One request from its beginning to its end.

use super::*;
use crate::{
    api::fence::LogEntry,
    external::{next::heir, next::orphaned, request_uid},
};

/// What a leader has left at any step, the next one goes on with: each act comes after what names it was stored.
#[test]
fn a_request_is_served_from_its_finalizer_to_its_release() {
    let mut fixture = Fixture::new();
    fixture.request["metadata"]["finalizers"] = json!([]);
    assert_eq!(fixture.step(), Some(Act::AddFinalizer));
    assert_eq!(fixture.shown(), is(TRUE, UNKNOWN, "RequestAccepted"));
    let Some(Act::Open(record)) = fixture.step() else { panic!("{:?}", fixture.next()) };
    assert_eq!((record.metadata.name.as_str(), record.spec.node_uid.as_str()), ("n0", "uid-n0"));
    assert_eq!((record.spec.policy.as_str(), request_uid(&record)), ("", Some("u-1")));
    assert_eq!(record.metadata.asked_by(), "asked by NodeFenceRemediation ops/n0 of NodeHealthCheck workers");
    assert_eq!(fixture.step(), None);
    assert_eq!(fixture.shown(), is(TRUE, UNKNOWN, "Fencing"));
    fixture.enters(Phase::PoweringOff);
    fixture.step();
    fixture.record = Some(released(Phase::AwaitReady));
    assert_eq!((fixture.step(), fixture.shown()), (None, is(TRUE, UNKNOWN, "TurningOn")));
    fixture.record = Some(released(Phase::Recovering));
    assert_eq!((fixture.step(), fixture.shown()), (None, is(TRUE, TRUE, "Fenced")));
    (fixture.record, fixture.ended) = (None, Some(released(Phase::Closed)));
    assert_eq!((fixture.step(), fixture.shown()), (None, is(FALSE, TRUE, "Fenced")));
    fixture.node.as_mut().unwrap().conditions.clear();
    assert_eq!((fixture.step(), fixture.shown()), (None, is(FALSE, TRUE, "Fenced")), "a request is served once");
    fixture.delete();
    assert_eq!(fixture.step(), Some(Act::RemoveFinalizer));
}

/// A later incident of the same node is another request's, and a copy that is kept no more changes nothing.
#[test]
fn what_has_ended_stays_as_it_ended() {
    for (copy, joined) in
        [(released(Phase::Closed), false), (released(Phase::Closed), true), (record(Phase::Closed), false)]
    {
        let mut fixture = Fixture { ended: Some(copy), ..Fixture::new() };
        fixture.request["status"] = json!({ "nodeName": "n0", "nodeUID": "uid-n0",
            "nodeFence": { "uid": "fence-1", "joined": joined, "phase": "AwaitReady" } });
        fixture.step();
        let ended = fixture.request["status"].clone();
        assert_eq!(ended["nodeFence"]["ended"], true, "{ended}");
        let mut later = record(Phase::PoweringOff);
        (later.metadata.uid, later.spec.policy) = ("fence-2".into(), "dead-nodes".into());
        later.metadata.annotations.clear();
        (fixture.ended, fixture.record) = (None, Some(later));
        assert_eq!((fixture.step(), &fixture.request["status"]), (None, &ended));
        fixture.record = None;
        assert_eq!((fixture.step(), &fixture.request["status"]), (None, &ended));
    }
}

/// Between the name in the status and the record the node may have become another one.
#[test]
fn the_record_is_opened_only_for_the_node_that_the_status_names() {
    let mut fixture = Fixture::new();
    assert_eq!(fixture.step(), None, "its name is stored first");
    fixture.node.as_mut().unwrap().uid = "uid-another".into();
    assert_eq!(fixture.step(), None, "another Node: it is named first");
    let Some(Act::Open(record)) = fixture.step() else { panic!("{:?}", fixture.next()) };
    assert_eq!(record.spec.node_uid, "uid-another");
}

#[test]
fn a_record_that_a_leader_opened_and_did_not_note_is_its_own() {
    let mut fixture = Fixture::with(record(Phase::AwaitGuards));
    fixture.request["status"] = json!({ "nodeName": "n0", "nodeUID": "uid-n0" });
    assert_eq!(fixture.step(), None);
    let known = read(&fixture.request).status.node_fence.unwrap();
    assert_eq!((known.uid.as_str(), known.joined), ("fence-1", false));
    let mut fixture = Fixture::with(record(Phase::AwaitGuards));
    fixture.delete();
    assert!(matches!(fixture.step(), Some(Act::Abort(_))), "also for one that was deleted meanwhile");
}

#[test]
fn what_cannot_be_fenced_reports_why_and_opens_nothing() {
    type Change = fn(&mut Fixture);
    let cases: [(&str, ConditionWord, Change); 7] = [
        ("NodeNotFound", FALSE, |fixture| fixture.node = None),
        ("BadSpec", FALSE, |fixture| fixture.request["spec"] = json!({ "drain": "soon" })),
        ("BadSpec", FALSE, |fixture| fixture.request["spec"] = json!({ "drains": "10m" })),
        ("RequestWaits", UNKNOWN, |fixture| fixture.node = Some(node("n0"))),
        ("RequestWaits", UNKNOWN, |fixture| fixture.general = vec![Blocker::plain("DryRun")]),
        ("RequestWaits", UNKNOWN, |fixture| fixture.general = vec![Blocker::of("KillSwitch", &[("by", &"a person")])]),
        ("RequestWaits", UNKNOWN, |fixture| fixture.general = vec![Blocker::plain("CacheNotSynced")]),
    ];
    for (reason, succeeded, change) in cases {
        let mut fixture = Fixture::new();
        fixture.request["status"] = json!({ "nodeName": "n0", "nodeUID": "uid-n0" });
        change(&mut fixture);
        assert_eq!(fixture.step(), None, "{reason}");
        assert_eq!((fixture.shown().1, fixture.shown().2.as_str()), (succeeded, reason));
    }
}

#[test]
fn a_record_of_a_policy_is_joined_and_neither_aborted_nor_doubled() {
    let mut foreign = blocked(record(Phase::AwaitGuards), "Storm");
    foreign.metadata.annotations.clear();
    foreign.spec.policy = "dead-nodes".into();
    let mut fixture = Fixture::with(foreign.clone());
    assert_eq!(fixture.step(), None);
    assert_eq!(fixture.shown(), is(TRUE, UNKNOWN, "FencingBlocked"));
    let message = read(&fixture.request).status.conditions[0].message.clone();
    assert!(
        message.contains("NodeFence n0 (of policy dead-nodes) is in AwaitGuards, blocked by Storm: why"),
        "{message}"
    );
    let mut deleted = Fixture { request: fixture.request.clone(), record: Some(foreign.clone()), ..Fixture::new() };
    deleted.delete();
    assert_eq!(deleted.step(), Some(Act::RemoveFinalizer), "it goes on by its policy");
    let mut timed_out = Fixture { request: fixture.request.clone(), record: Some(foreign), ..Fixture::new() };
    timed_out.time_out();
    assert_eq!((timed_out.step(), timed_out.shown()), (None, is(FALSE, FALSE, "TimedOut")));
    // It ended without a release, as a policy's does when its predicate is false: the request is still there.
    let mut ended = Fixture { request: fixture.request.clone(), ended: Some(record(Phase::Closed)), ..Fixture::new() };
    assert!(matches!(ended.step(), Some(Act::Open(_))));
    let mut served = Fixture { request: fixture.request, ended: Some(released(Phase::Closed)), ..Fixture::new() };
    assert_eq!((served.step(), served.shown()), (None, is(FALSE, TRUE, "Fenced")));
}

#[test]
fn a_deletion_waits_for_the_end_of_what_was_begun() {
    let mut fixture = Fixture::with(record(Phase::PoweringOff));
    fixture.delete();
    assert!(matches!(fixture.step(), Some(Act::Abort(_))));
    assert_eq!(fixture.shown(), is(TRUE, UNKNOWN, "TakingBack"));
    for phase in [Phase::InDoubt, Phase::PoweringOn, Phase::AwaitReady, Phase::Recovering] {
        fixture.enters(phase);
        assert_eq!(fixture.step(), None, "{phase:?}");
    }
    fixture.enters(Phase::Closed);
    assert!(matches!(fixture.step(), Some(Act::Close(_))), "nothing of ours is left on the Node");
    assert_eq!(fixture.step(), Some(Act::RemoveFinalizer));
}

/// Neither is turned on, nor touched again, because a request went.
#[test]
fn what_is_a_persons_stays_when_its_request_is_deleted() {
    for fence in [
        blocked(record(Phase::Quarantined), "Attempts"),
        blocked(released(Phase::PodsReleased), "LeftOff"),
        blocked(released(Phase::PodsReleased), "PowerCycleLimit"),
    ] {
        assert_eq!(orphaned(&fence), None);
        let mut fixture = Fixture::with(fence);
        fixture.delete();
        assert_eq!(fixture.step(), Some(Act::RemoveFinalizer));
    }
    let mut releasing = Fixture::with(releasing(blocked(released(Phase::PodsReleased), "LeftOff")));
    releasing.delete();
    assert!(matches!(releasing.step(), Some(Act::Abort(_))), "its pods are only being released");
}

#[test]
fn a_request_that_timed_out_begins_nothing_and_ends_in_a_known_state() {
    let mut fresh = Fixture::new();
    fresh.time_out();
    assert_eq!((fresh.step(), fresh.shown()), (None, is(FALSE, FALSE, "TimedOut")));
    let mut fixture = Fixture::with(record(Phase::AwaitGuards));
    fixture.time_out();
    assert!(matches!(fixture.step(), Some(Act::Abort(_))));
    assert_eq!(fixture.shown(), is(TRUE, FALSE, "TimedOut"), "its client goes on with another remediator at once");
    fixture.enters(Phase::Recovering);
    assert_eq!(fixture.step(), None);
    fixture.enters(Phase::Closed);
    assert!(matches!(fixture.step(), Some(Act::Close(_))));
    assert_eq!((fixture.step(), fixture.shown()), (None, is(FALSE, FALSE, "TimedOut")));
    assert_eq!(fixture.step(), None, "and it opens no other record");
    let mut back = Fixture::with(released(Phase::Recovering));
    back.time_out();
    assert_eq!((back.step(), back.shown()), (None, is(TRUE, TRUE, "Fenced")), "what has succeeded is not aborted");
}

#[test]
fn a_record_goes_on_for_another_request_of_its_node() {
    let mut other = raw();
    other["metadata"]["uid"] = json!("u-2");
    other["metadata"]["name"] = json!("n0-x7");
    other["status"] = json!({ "nodeName": "n0" });
    let mut first = read(&raw());
    first.status.node_name = "n0".into();
    let of = |other: &Value| heir(&[first.clone(), read(other)], &first).map(Request::id);
    assert_eq!(of(&other).as_deref(), Some("cluster/ops/n0-x7/u-2"));
    let changes: [fn(&mut Value); 4] = [
        |other| other["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"),
        |other| other["metadata"]["annotations"]["remediation.medik8s.io/nhc-timed-out"] = json!("x"),
        |other| other["metadata"]["finalizers"] = json!([]),
        |other| other["status"]["nodeName"] = json!("n1"),
    ];
    for change in changes {
        let mut other = other.clone();
        change(&mut other);
        assert_eq!(of(&other), None, "{other}");
    }
    let mut fixture = Fixture::with(record(Phase::PoweringOff));
    fixture.heir = Some("cluster/ops/n0-x7/u-2");
    fixture.delete();
    assert!(matches!(fixture.step(), Some(Act::HandOver(..))));
    assert_eq!(request_uid(fixture.record.as_ref().unwrap()), Some("u-2"));
    assert_eq!(fixture.step(), Some(Act::RemoveFinalizer), "and is not aborted");
}

#[test]
fn how_a_record_ended_is_known_by_its_copy_and_else_by_what_was_seen_last() {
    let known = |released: bool| {
        json!({ "nodeName": "n0", "nodeUID": "uid-n0", "nodeFence":
            { "uid": "fence-1", "joined": false, "phase": "AwaitReady", "podsReleased": released, "ended": false } })
    };
    let shown = |status: Value, ended: Option<NodeFence>| {
        let mut fixture = Fixture { ended, ..Fixture::new() };
        fixture.request["status"] = status;
        assert_eq!(fixture.step(), None);
        fixture.shown()
    };
    assert_eq!(shown(known(false), Some(released(Phase::Closed))), is(FALSE, TRUE, "Fenced"));
    assert_eq!(shown(known(true), None), is(FALSE, TRUE, "Fenced"));
    assert_eq!(shown(known(false), None), is(FALSE, FALSE, "NotFenced"));
    let mut gone = record(Phase::Closed);
    gone.status.log = vec![LogEntry { at: wall(1), epoch: 1, text: "Closed: the Node is gone".into() }];
    let mut fixture = Fixture { ended: Some(gone), ..Fixture::new() };
    fixture.request["status"] = known(true);
    fixture.step();
    assert_eq!(fixture.shown(), is(FALSE, FALSE, "NotFenced"), "the copy is the newer one");
    assert!(read(&fixture.request).status.conditions[1].message.contains("the Node is gone"));
}
