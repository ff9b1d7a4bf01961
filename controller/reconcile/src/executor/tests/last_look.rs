//! The last look, by the acts that it stands before: each thing that forbids them, by itself, and nothing begins.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_remediation::{
    action::Failed,
    api::{
        SKIP_REMEDIATION,
        fence::{
            DrainReport,
            IntendedOp::{self, PowerOff, PowerOn, Reap, Release},
        },
    },
    facts::{ConditionStatus, Deletion, Effect, LeaseView, Owner, Pod, Taint},
    snapshot::{FenceLevel, FencePlan},
};

use tokio::time::sleep;

use super::{
    double::Truth,
    stage::{self, Stage, pod},
};
use crate::cluster::LeaseKind;

const ALL: &[IntendedOp] = &[PowerOff, PowerOn, Release, Reap];
/// What ends a machine.
const ENDS: &[IntendedOp] = &[PowerOff, Reap];

type Forbids = (&'static str, &'static [IntendedOp], fn(&mut Truth));

fn fence(truth: &mut Truth) -> &mut nodewell_remediation::api::fence::NodeFence {
    truth.fence.as_mut().expect("it is stored")
}

fn node(truth: &mut Truth) -> &mut nodewell_remediation::facts::Node {
    truth.node.as_mut().expect("it is stored")
}

fn silent(truth: &mut Truth, call: &'static str) {
    truth.silent.insert(call);
}

fn lease(truth: &mut Truth) -> &mut LeaseView {
    truth.lease.as_mut().expect("it is stored")
}

const FORBIDS: &[Forbids] = &[
    ("the kill switch", ALL, |truth| truth.stopped = Some("a person".into())),
    ("a kill switch that cannot be read", ALL, |truth| silent(truth, "stopped")),
    ("a record that was deleted", ALL, |truth| truth.fence = None),
    ("a record that cannot be read", ALL, |truth| silent(truth, "fence")),
    ("another version of the record", ALL, |truth| fence(truth).metadata.resource_version = "10".into()),
    ("another record", ALL, |truth| fence(truth).metadata.uid = "g".into()),
    ("an abort", &[PowerOff, Release, Reap], |truth| fence(truth).spec.abort = true),
    ("an annotation on the record", ALL, |truth| {
        fence(truth).metadata.annotations.insert(SKIP_REMEDIATION.into(), "me".into());
    }),
    ("no intent", ALL, |truth| fence(truth).status.intent = None),
    ("an intent of another term", ALL, |truth| fence(truth).status.intent.iter_mut().for_each(|it| it.epoch -= 1)),
    ("an intent of another act", ALL, |truth| {
        let other = |op| if op == PowerOff { Reap } else { PowerOff };
        fence(truth).status.intent.iter_mut().for_each(|intent| intent.op = other(intent.op));
    }),
    ("a Node that was deleted", ALL, |truth| truth.node = None),
    ("another Node", ALL, |truth| node(truth).uid = "m-uid".into()),
    ("a Node that cannot be read", ALL, |truth| silent(truth, "node")),
    ("an annotation on the Node", ALL, |truth| {
        node(truth).annotations.insert(SKIP_REMEDIATION.into(), "me".into());
    }),
    ("a Lease that was renewed", ALL, |truth| {
        lease(truth).renewed = Some(Timestamp::UNIX_EPOCH + Duration::from_secs(60));
    }),
    ("a Lease of another holder", ALL, |truth| lease(truth).holder = "m".into()),
    ("a Lease that cannot be read", ALL, |truth| silent(truth, "lease")),
    ("a Lease that is gone", ENDS, |truth| truth.lease = None),
    ("a Lease that is gone, of a Node that is Ready", &[PowerOn, Release], |truth| {
        truth.lease = None;
        node(truth).conditions[0].status = ConditionStatus::True;
    }),
    ("another boot", &[PowerOff, Release, Reap], |truth| node(truth).boot_id = "new".into()),
    ("a boot that is not known", &[PowerOff, Release, Reap], |truth| node(truth).boot_id.clear()),
    ("a Node that is being deleted", ENDS, |truth| node(truth).deleting = true),
    ("an autoscaler", ENDS, |truth| {
        let taint =
            Taint { key: "ToBeDeletedByClusterAutoscaler".into(), value: String::new(), effect: Effect::NoSchedule };
        node(truth).taints.push(taint);
    }),
    ("an update of its operating system", ENDS, |truth| {
        node(truth).annotations.insert("machineconfiguration.openshift.io/state".into(), "Working".into());
    }),
    ("a peer", ENDS, |truth| {
        node(truth).annotations.insert("remediation.medik8s.io/exclude-from-remediation".into(), "true".into());
        node(truth).labels.insert("remediation.medik8s.io/exclude-from-remediation".into(), "true".into());
    }),
];

#[tokio::test(start_paused = true)]
async fn each_act_begins_when_nothing_forbids_it() {
    for (op, act) in [(PowerOff, "off"), (PowerOn, "on"), (Release, "mark"), (Reap, "reap")] {
        let stage = Stage::of(op).await;
        let outcome = stage.perform().await;
        assert!(outcome.is_ok(), "{op:?}: {outcome:?}");
        assert_eq!(stage.acts()[0], act);
    }
}

#[tokio::test(start_paused = true)]
async fn each_thing_that_forbids_an_act_forbids_it_alone() {
    for &(what, acts, forbid) in FORBIDS {
        for op in acts {
            let stage = Stage::of(*op).await;
            forbid(&mut stage.double.truth.borrow_mut());
            let outcome = stage.perform().await;
            let not_begun = matches!(outcome, Err(Failed::NotBegun(_) | Failed::Gone(_)));
            assert!(not_begun && stage.acts().is_empty(), "{what}: {op:?}: {outcome:?}, {:?}", stage.names());
        }
    }
}

/// The record as the decision knows it is the very one that is stored, and not merely one that means the same.
#[tokio::test(start_paused = true)]
async fn everything_is_read_again_right_before_each_act() {
    for op in [PowerOff, PowerOn, Release, Reap] {
        let stage = Stage::of(op).await;
        stage.perform().await.expect("nothing forbids it");
        let names = stage.names();
        let act = names.iter().position(|call| ["off", "on", "mark", "reap"].contains(&call.as_str())).expect("an act");
        let mut look = names[act - 4..act].to_vec();
        look.sort();
        assert_eq!(look, ["fence", "lease", "node", "stopped"], "{op:?}: {names:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_host_that_judges_is_not_acted_upon() {
    for op in ALL {
        let stage = Stage::of(*op).await;
        stage.cache.set_host(|host| host.node = Some("n".into()));
        assert!(matches!(stage.perform().await, Err(Failed::NotBegun(_))), "{op:?}");
        assert!(stage.acts().is_empty());
    }
}

/// What was read more than 0.8 s ago is read again, three times at most.
#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_slow_is_asked_again_and_then_forbids() {
    for op in ALL {
        let stage = Stage::at(*op, |call, before, truth| {
            if (call, before) == ("stopped", 0) {
                truth.slow.clear();
            }
        })
        .await;
        stage.double.truth.borrow_mut().slow.insert("stopped", Duration::from_millis(900));
        assert!(stage.perform().await.is_ok(), "{op:?}");
        assert_eq!(stage.times("stopped").len(), 2, "{op:?}");
        let stage = Stage::of(*op).await;
        stage.double.truth.borrow_mut().slow.insert("stopped", Duration::from_millis(900));
        assert!(matches!(stage.perform().await, Err(Failed::NotBegun(_))), "{op:?}");
        assert!(stage.acts().is_empty() && stage.times("stopped").len() == 3, "{op:?}");
    }
}

/// 5 s, or as long as the act may take where that is less.
#[tokio::test(start_paused = true)]
async fn a_term_that_ends_before_the_act_can_forbids_it() {
    let tables = [
        (None, 6, true),
        (None, 4, false),
        (Some(2), 3, true),
        (Some(2), 1, false),
        (Some(60), 6, true),
        (None, 0, false),
    ];
    for op in ALL {
        for (longest, left, begins) in tables {
            let mut stage = Stage::of(*op).await;
            stage.term = Duration::from_secs(left);
            let level = |secs| FenceLevel { longest: Duration::from_secs(secs), ..FenceLevel::default() };
            let plan = longest.map(|secs| Ok(FencePlan { levels: vec![level(secs)], ..FencePlan::default() }));
            stage.cache.gather("n", |gathered| gathered.methods = plan);
            let outcome = stage.perform().await;
            assert_eq!(!stage.acts().is_empty(), begins, "{op:?} {longest:?} {left}: {outcome:?}");
        }
    }
}

async fn drained(op: IntendedOp, left: u32) -> Stage {
    let mut stage = Stage::of(op).await;
    stage.rewrite(|fence| {
        fence.status.drain = Some(DrainReport { done: true, refused_evictions: Vec::new(), left });
    });
    let mut truth = stage.double.truth.borrow_mut();
    truth.lease.as_mut().expect("it is stored").renewed = Some(Timestamp::UNIX_EPOCH + Duration::from_secs(60));
    truth.pods.clear();
    drop(truth);
    stage
}

#[tokio::test(start_paused = true)]
async fn a_node_that_speaks_loses_its_power_only_while_its_drain_holds() {
    let stage = drained(PowerOff, 0).await;
    assert!(stage.perform().await.is_ok(), "{:?}", stage.names());
    let left = drained(PowerOff, 1).await;
    assert!(matches!(left.perform().await, Err(Failed::NotBegun(_))));
    let back = drained(PowerOff, 0).await;
    back.double.truth.borrow_mut().pods = vec![pod(0)];
    assert!(matches!(back.perform().await, Err(Failed::NotBegun(_))), "a pod came after the drain");
    let unread = drained(PowerOff, 0).await;
    unread.double.truth.borrow_mut().silent.insert("pods");
    assert!(matches!(unread.perform().await, Err(Failed::NotBegun(_))), "its pods cannot be listed");
    for stage in [left, back, unread] {
        assert!(stage.acts().is_empty());
    }
}

/// One that is going, and one that comes back with the node, lose nothing by it.
#[tokio::test(start_paused = true)]
async fn pods_that_a_drain_leaves_there_keep_no_power_on() {
    let deletion = Some(Deletion { at: Timestamp::UNIX_EPOCH, grace: Duration::ZERO });
    let owner = Some(Owner { kind: "DaemonSet".into(), name: "net".into(), uid: "net".into(), gone: false });
    let tables = [
        (Pod { deleting: deletion, ..pod(0) }, true),
        (Pod { owner: owner.clone(), ..pod(0) }, true),
        (Pod { owner, deleting: deletion, ..pod(0) }, true),
        (pod(0), false),
    ];
    for (pod, begins) in tables {
        let stage = drained(PowerOff, 0).await;
        stage.double.truth.borrow_mut().pods = vec![pod.clone()];
        let outcome = stage.perform().await;
        assert_eq!(outcome.is_ok(), begins, "{pod:?}: {outcome:?}");
    }
}

/// One interval of its renewals: within that it may be well.
#[tokio::test(start_paused = true)]
async fn a_kubelet_is_silent_from_the_tenth_second_on() {
    for (millis, begins) in [(9_999, false), (10_000, true)] {
        for op in ENDS {
            let mut stage = Stage::of(*op).await;
            let renewed =
                LeaseView { renewed: Some(Timestamp::UNIX_EPOCH + Duration::from_secs(60)), ..stage::lease() };
            stage.rewrite(|fence| fence.status.lease_renewed = renewed.renewed);
            stage.double.truth.borrow_mut().lease = Some(renewed.clone());
            stage.cache.apply_lease(LeaseKind::Kubelet, "n", LeaseView { resource_version: "4".into(), ..renewed });
            sleep(Duration::from_millis(millis)).await;
            assert_eq!(stage.perform().await.is_ok(), begins, "{op:?} {millis}");
        }
    }
}

/// After a drain a provider may replace a node that speaks and is not Ready; one that is Ready only if it is empty.
#[tokio::test(start_paused = true)]
async fn a_node_that_speaks_is_replaced_when_it_is_empty_or_not_ready_after_a_drain() {
    for (left, ready, begins) in [(0, true, true), (1, false, true), (1, true, false)] {
        let stage = drained(Reap, left).await;
        if ready {
            stage.double.truth.borrow_mut().node.as_mut().expect("it is stored").conditions[0].status =
                ConditionStatus::True;
        }
        let outcome = stage.perform().await;
        assert_eq!(outcome.is_ok(), begins, "{left} {ready}: {outcome:?}");
        assert_eq!(stage.acts().is_empty(), !begins);
    }
}
