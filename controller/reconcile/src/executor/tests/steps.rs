//! Steps before power: a drain, which any client may stop, and a cordon, in one request where that is enough.

use std::time::Duration;

use nodewell_remediation::{
    action::{Action, Done, Failed, Op, Outcome, ReversibleOp},
    api::{fence::IntendedOp, policy::Mode},
    drain::DrainRules,
    facts::{Deletion, Owner, Pod},
    policy::Policy,
    time::Moment,
};
use tokio::sync::watch;

use super::{
    rounds::act,
    stage::{EPOCH, Stage, node, pod},
};
use crate::{
    executor::{Executor, Settings},
    lease_deadline::LeaseDeadline,
};

async fn perform(stage: &Stage, op: ReversibleOp) -> Outcome {
    let executor = Executor::new(&stage.double, &stage.double, &stage.cache, stage.clock, Settings::default());
    let (_open, until) = watch::channel(Moment(Duration::MAX));
    executor.perform(&stage.fence, &Op::from(op), &LeaseDeadline::new(EPOCH, until)).await
}

fn drain() -> ReversibleOp {
    ReversibleOp::Drain(rules())
}

fn rules() -> DrainRules {
    DrainRules::of(&Default::default()).expect("the defaults are right")
}

#[tokio::test(start_paused = true)]
async fn a_drain_that_nothing_forbids_ends_with_its_report_and_is_counted() {
    let mut stage = Stage::of(IntendedOp::PowerOff).await;
    stage.rewrite(|fence| fence.spec.policy = "p".into());
    stage.double.truth.borrow_mut().pods.clear();
    assert_eq!(
        perform(&stage, drain()).await,
        Err(Failed::NotBegun("its policy is gone or cannot be read".into())),
        "nothing goes without the policy that asked for it"
    );
    stage
        .cache
        .with(|snapshot| snapshot.policies.push(Policy { name: "p".into(), mode: Mode::Enforce, ..Policy::default() }));
    let outcome = perform(&stage, drain()).await;
    assert!(matches!(&outcome, Ok(Done::Drain(report)) if report.done), "{outcome:?}");
    let counts = |stage: &Stage| (stage.cache.counts("p").drains, stage.cache.counts("p").drains_failed);
    assert_eq!(counts(&stage), (2, 0));
    stage.double.truth.borrow_mut().pods = vec![pod(0)];
    let outcome = perform(&stage, drain()).await;
    assert!(matches!(&outcome, Ok(Done::Drain(report)) if !report.done), "it cannot be evicted: {outcome:?}");
    assert_eq!(counts(&stage), (3, 1));
}

/// The next leader would not count what is evicted before.
#[tokio::test(start_paused = true)]
async fn a_drain_evicts_nothing_before_the_lease_has_its_pods() {
    for (written_after, evicts) in [(0, true), (7, true), (40, false)] {
        let mut stage = Stage::of(IntendedOp::PowerOff).await;
        stage.rewrite(|fence| fence.spec.policy = "p".into());
        let policy = Policy { name: "p".into(), mode: Mode::Enforce, ..Policy::default() };
        stage.cache.with(|snapshot| snapshot.policies.push(policy));
        stage.double.truth.borrow_mut().pods = vec![pod(0)];
        stage.decided_anew();
        let rules = DrainRules { timeout: Duration::from_secs(30), ..rules() };
        let writes = async {
            tokio::time::sleep(Duration::from_secs(written_after)).await;
            stage.wrote_handover();
        };
        let (outcome, ()) = tokio::join!(perform(&stage, ReversibleOp::Drain(rules)), writes);
        assert_eq!(matches!(outcome, Err(Failed::NotBegun(_))), !evicts, "{outcome:?}");
        let first = stage.times("pods").first().copied();
        assert_eq!(first.is_some(), evicts);
        assert!(first.is_none_or(|after| after >= Duration::from_secs(written_after)), "{first:?}");
    }
}

/// Not one call is made after the drain's time, however long it waited before its first.
#[tokio::test(start_paused = true)]
async fn what_a_drain_waits_before_it_begins_is_of_its_time() {
    let mut stage = Stage::of(IntendedOp::PowerOff).await;
    stage.rewrite(|fence| fence.spec.policy = "p".into());
    let policy = Policy { name: "p".into(), mode: Mode::Enforce, ..Policy::default() };
    stage.cache.with(|snapshot| snapshot.policies.push(policy));
    stage.double.truth.borrow_mut().silent.insert("pods");
    stage.decided_anew();
    let begun = stage.clock.moment();
    let writes = async {
        tokio::time::sleep(Duration::from_secs(7)).await;
        stage.wrote_handover();
    };
    let rules = DrainRules { timeout: Duration::from_secs(10), ..rules() };
    let (outcome, ()) = tokio::join!(perform(&stage, ReversibleOp::Drain(rules)), writes);
    assert!(matches!(&outcome, Ok(Done::Drain(report)) if !report.done), "{outcome:?}");
    assert_eq!(stage.clock.moment().since(begun), Duration::from_secs(10));
}

/// A person may stop it meanwhile.
#[tokio::test(start_paused = true)]
async fn a_drain_that_waits_for_the_lease_can_be_stopped() {
    let stage = Stage::of(IntendedOp::PowerOff).await;
    stage.decided_anew();
    let stops = async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        stage.cache.set_stopped(Some("a person".into()));
    };
    let (outcome, ()) = tokio::join!(perform(&stage, drain()), stops);
    assert_eq!(outcome, Err(Failed::NotBegun("stopped by a person".into())));
}

/// A read of the record hangs meanwhile.
#[tokio::test(start_paused = true)]
async fn a_read_that_hangs_delays_no_stop_of_a_drain() {
    let stage = Stage::of(IntendedOp::PowerOff).await;
    let owner = Some(Owner { kind: "ReplicaSet".into(), name: "r".into(), uid: "r".into(), gone: false });
    let deletion = Deletion { at: jiff::Timestamp::MAX, grace: Duration::from_secs(30) };
    stage.double.truth.borrow_mut().pods = vec![Pod { deleting: Some(deletion), owner, ..pod(0) }];
    let begun = stage.clock.moment();
    let stops = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        stage.double.truth.borrow_mut().slow.insert("fence", Duration::from_secs(5));
        tokio::time::sleep(Duration::from_millis(1600)).await;
        assert_eq!(stage.times("fence").len(), 2, "its second read is under way");
        stage.cache.set_stopped(Some("a person".into()));
    };
    let (outcome, ()) = tokio::join!(perform(&stage, drain()), stops);
    assert_eq!(outcome, Err(Failed::NotBegun("stopped by a person".into())));
    let elapsed = stage.clock.moment().since(begun);
    assert!(elapsed <= Duration::from_millis(3100), "{elapsed:?}");
}

/// A person opened the record, without a policy.
#[tokio::test(start_paused = true)]
async fn a_drain_of_a_record_without_a_policy_goes_on_until_it_is_stopped() {
    let stage = Stage::of(IntendedOp::PowerOff).await;
    stage.double.truth.borrow_mut().pods.clear();
    assert!(matches!(perform(&stage, drain()).await, Ok(Done::Drain(report)) if report.done));
    stage.cache.set_stopped(Some("a person".into()));
    assert_eq!(perform(&stage, drain()).await, Err(Failed::NotBegun("stopped by a person".into())));
}

/// The watch hangs, and shows neither that a person has deleted the record nor that one has aborted it.
#[tokio::test(start_paused = true)]
async fn a_drain_reads_its_record_past_the_cache() {
    type Change = fn(&Stage);
    let changes: [(&str, Change); 2] = [
        ("the record was deleted", |stage| stage.double.truth.borrow_mut().fence = None),
        ("a person aborted it", |stage| {
            let mut truth = stage.double.truth.borrow_mut();
            let fence = truth.fence.as_mut().expect("it is there");
            (fence.spec.abort, fence.metadata.resource_version) = (true, "99".into());
        }),
    ];
    for (why, change) in changes {
        let stage = Stage::of(IntendedOp::PowerOff).await;
        change(&stage);
        assert_eq!(perform(&stage, drain()).await, Err(Failed::NotBegun(why.into())));
        assert_eq!(stage.times("pods"), [], "{why} before it begins");
        let stage = Stage::of(IntendedOp::PowerOff).await;
        stage.double.truth.borrow_mut().silent.insert("pods");
        let begun = stage.clock.moment();
        let person = async {
            tokio::time::sleep(Duration::from_secs(20)).await;
            change(&stage);
        };
        let (outcome, ()) = tokio::join!(perform(&stage, drain()), person);
        assert_eq!(outcome, Err(Failed::NotBegun(why.into())), "in the middle");
        assert!(stage.clock.moment().since(begun) <= Duration::from_secs(24), "{:?}", stage.clock.moment());
    }
    let unread = Stage::of(IntendedOp::PowerOff).await;
    unread.double.truth.borrow_mut().silent.insert("fence");
    assert!(matches!(perform(&unread, drain()).await, Err(Failed::NotBegun(_))));
    assert_eq!(unread.times("pods"), []);
}

/// What the watch saw is condition enough, if it saw this Node and no cordon.
#[tokio::test(start_paused = true)]
async fn a_cordon_is_one_request_upon_what_the_watch_saw() {
    for (uid, unschedulable, expected) in
        [("n-uid", false, "cordon p as seen"), ("n-uid", true, "cordon p"), ("m-uid", false, "cordon p")]
    {
        let mut stage = Stage::of(IntendedOp::PowerOff).await;
        stage.rewrite(|fence| fence.spec.policy = "p".into());
        stage.cache.remove_node("n");
        stage.cache.apply_node(nodewell_remediation::facts::Node { uid: uid.into(), unschedulable, ..node() });
        assert_eq!(perform(&stage, ReversibleOp::Cordon).await, Ok(Done::Yes));
        assert_eq!(stage.double.calls()[0].1, expected, "{uid} {unschedulable}");
        let known = stage.cache.with(|snapshot| snapshot.nodes["n"].clone());
        assert_eq!((known.uid.as_str(), known.unschedulable), ("n-uid", true), "and known to the next decision");
    }
    let another = Stage::of(IntendedOp::PowerOff).await;
    another.double.truth.borrow_mut().node.as_mut().expect("it is there").uid = "m-uid".into();
    perform(&another, ReversibleOp::Cordon).await.expect("it was answered");
    assert_eq!(
        another.cache.with(|snapshot| snapshot.nodes["n"].uid.clone()),
        "n-uid",
        "another Node is not taken for it"
    );
}

#[tokio::test(start_paused = true)]
async fn a_new_record_whose_status_cannot_be_written_is_tried_ever_less_often_and_only_in_this_term() {
    let mut stage = Stage::of(IntendedOp::PowerOff).await;
    stage.term = Duration::from_secs(20);
    stage.double.truth.borrow_mut().silent.extend(["save", "fence"]);
    let events = act(&stage, Action::Open(Box::new(stage.to_open()))).await;
    let saves = stage.times("save").len();
    assert!(events.is_empty() && (12..=15).contains(&saves), "0.1 s, 0.2 s, 0.4 s and so on up to 2 s: {saves}");
}
