//! Steps before power: a drain, which any client may stop, and a cordon, in one request where that is enough.

use std::time::Duration;

use nodewell_remediation::{
    action::{Action, Done, Failed, Op, Outcome, ReversibleOp},
    api::{fence::IntendedOp, policy::Mode},
    drain::DrainRules,
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
    ReversibleOp::Drain(DrainRules::of(&Default::default()).expect("the defaults are right"))
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

/// One in portions is shown by its record.
#[tokio::test(start_paused = true)]
async fn a_drain_waits_until_the_next_leader_would_know_of_it_and_no_longer_than_for_two_renewals() {
    for (written, portions, waits) in [(false, 1, 5), (true, 1, 0), (false, 2, 0)] {
        let mut stage = Stage::of(IntendedOp::PowerOff).await;
        stage.rewrite(|fence| {
            (fence.spec.policy, fence.status.drain_portions) = ("p".into(), portions);
        });
        let policy = Policy { name: "p".into(), mode: Mode::Enforce, ..Policy::default() };
        stage.cache.with(|snapshot| snapshot.policies.push(policy));
        stage.double.truth.borrow_mut().pods.clear();
        let moved = r#"{ "pods": [{ "policy": "p", "node": "n", "age": 0, "pods": 1 }] }"#;
        if written {
            stage.cache.handed_over(serde_json::from_str(moved).unwrap());
        }
        let began = stage.clock.moment();
        assert!(matches!(perform(&stage, drain()).await, Ok(Done::Drain(_))));
        assert_eq!(stage.clock.moment().since(began).as_secs(), waits, "{written} {portions}");
    }
}

/// Not one call is made after the drain's time, however long it waited before its first.
#[tokio::test(start_paused = true)]
async fn what_a_drain_waits_for_the_lease_is_of_its_time() {
    for (seconds, is_begun) in [(4, false), (5, false), (6, true)] {
        let mut stage = Stage::of(IntendedOp::PowerOff).await;
        stage.rewrite(|fence| fence.spec.policy = "p".into());
        let policy = Policy { name: "p".into(), mode: Mode::Enforce, ..Policy::default() };
        stage.cache.with(|snapshot| snapshot.policies.push(policy));
        stage.double.truth.borrow_mut().pods = vec![pod(0)];
        let defaults = DrainRules::of(&Default::default()).expect("the defaults are right");
        let rules = DrainRules { timeout: Duration::from_secs(seconds), ..defaults };
        let outcome = perform(&stage, ReversibleOp::Drain(rules)).await;
        assert!(matches!(&outcome, Ok(Done::Drain(report)) if !report.done), "{outcome:?}");
        assert_eq!(stage.names().contains(&"pods".to_owned()), is_begun, "{seconds}: {:?}", stage.names());
    }
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
    let events = act(&stage, Action::Open(Box::new(stage.fence.clone()))).await;
    let saves = stage.times("save").len();
    assert!(events.is_empty() && (12..=15).contains(&saves), "0.1 s, 0.2 s, 0.4 s and so on up to 2 s: {saves}");
}
