//! A release: the taint is one, and everything that forbids it comes before it.

use std::time::Duration;

use nodewell_remediation::{
    action::{Done, Failed, IrreversibleOp},
    api::{
        OUT_OF_SERVICE, OUT_OF_SERVICE_BY,
        fence::{DrainReport, IntendedOp::Release},
    },
    facts::{Owner, Toleration},
    snapshot::PowerState::{Off, On, Unknown},
    time::Moment,
};

use tokio::time::sleep;

use super::stage::{At, Stage, pod};
use crate::api_error::ApiError;

async fn refused(stage: &Stage) {
    let outcome = stage.perform().await;
    assert!(matches!(outcome, Err(Failed::NotBegun(_))), "{outcome:?}");
    assert!(stage.acts().is_empty(), "{:?}", stage.names());
}

#[tokio::test(start_paused = true)]
async fn power_is_read_and_pods_are_counted_and_then_everything_else_is_looked_at() {
    let stage = Stage::of(Release).await;
    assert_eq!(stage.perform().await, Ok(Done::Released(3)));
    let calls: Vec<String> = stage.double.calls().into_iter().map(|(_, call)| call).collect();
    let mark = calls.iter().position(|call| call.starts_with("mark")).expect("it was marked");
    assert_eq!(calls[mark], format!("mark {OUT_OF_SERVICE}={OUT_OF_SERVICE_BY}"));
    let before = |name: &str| calls[..mark].iter().rposition(|call| call == name);
    assert!(before("read") < before("pods") && before("pods") < before("stopped"), "{calls:?}");
    assert_eq!(
        calls[mark + 1..],
        ["delete uid-db-0 grace Some(0)", "delete uid-db-1 grace Some(0)", "delete uid-db-2 grace Some(0)"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_is_not_read_as_off_right_before_is_not_released() {
    for state in [On, Unknown] {
        let stage = Stage::of(Release).await;
        stage.bmc([state]);
        refused(&stage).await;
    }
    let late = Stage::of(Release).await;
    late.double.truth.borrow_mut().slow.insert("read", Duration::from_secs(31));
    refused(&late).await;
}

/// By whichever caller; one of before the intent was weighed when it was intended.
#[tokio::test(start_paused = true)]
async fn on_that_was_read_since_the_release_was_intended_forbids_it() {
    let stage = Stage::of(Release).await;
    let now = stage.clock.moment();
    stage.cache.gather("n", |gathered| gathered.last_on_answer = Some(now));
    refused(&stage).await;
    assert!(stage.times("pods").is_empty() && stage.times("stopped").is_empty(), "nothing else matters by then");
    let stage = Stage::of(Release).await;
    let before = Moment(stage.clock.moment().0 - Duration::from_millis(1));
    stage.cache.gather("n", |gathered| gathered.last_on_answer = Some(before));
    assert_eq!(stage.perform().await, Ok(Done::Released(3)));
}

#[tokio::test(start_paused = true)]
async fn without_a_confirmation_nothing_is_released() {
    let mut stage = Stage::of(Release).await;
    stage.rewrite(|fence| fence.status.off = None);
    refused(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn no_more_pods_go_than_were_counted() {
    let more = Stage::of(Release).await;
    more.double.truth.borrow_mut().pods.push(pod(3));
    refused(&more).await;
    let unread = Stage::of(Release).await;
    unread.double.truth.borrow_mut().silent.insert("pods");
    refused(&unread).await;
    let fewer = Stage::of(Release).await;
    fewer.double.truth.borrow_mut().pods.truncate(2);
    assert_eq!(fewer.perform().await, Ok(Done::Released(2)));
    let tolerates = Stage::of(Release).await;
    let all = Toleration { key: String::new(), value: String::new(), exists: true, effect: None, seconds: None };
    let mut stays = pod(3);
    stays.owner = Some(Owner { kind: "DaemonSet".into(), name: "net".into(), uid: "net".into(), gone: false });
    stays.tolerations = vec![all];
    let pods = tolerates.pods();
    tolerates.double.truth.borrow_mut().pods.push(stays);
    let outcome = tolerates.perform_op(&IrreversibleOp::Release { pods }).await;
    assert_eq!(outcome, Ok(Done::Released(3)), "a pod that stays counts for nothing");
}

fn changed(call: &str, before: usize, truth: &mut super::double::Truth, changes: usize) {
    if call == "mark" && before < changes {
        truth.node.as_mut().expect("it is there").resource_version = format!("{}", 6 + before);
    }
}

/// Everything is asked again, the power first.
#[tokio::test(start_paused = true)]
async fn a_node_that_changed_since_the_look_is_looked_at_again() {
    let stage = Stage::at(Release, |call, before, truth| changed(call, before, truth, 1)).await;
    assert_eq!(stage.perform().await, Ok(Done::Released(3)));
    for call in ["read", "pods", "stopped", "mark"] {
        assert_eq!(stage.times(call).len(), 2, "{call}");
    }
    let always = Stage::at(Release, |call, before, truth| changed(call, before, truth, 9)).await;
    assert!(matches!(always.perform().await, Err(Failed::NotBegun(_))));
    assert_eq!((always.times("mark").len(), always.times("delete").len()), (3, 0));
    // What forbids it by then, forbids it.
    let on: At = |call, before, truth| {
        changed(call, before, truth, 1);
        if call == "mark" {
            truth.power = [On].into();
        }
    };
    let on = Stage::at(Release, on).await;
    assert!(matches!(on.perform().await, Err(Failed::NotBegun(_))));
    assert_eq!(on.acts(), ["mark"]);
}

#[tokio::test(start_paused = true)]
async fn a_mark_without_an_answer_is_in_doubt_and_deletes_nothing() {
    let stage = Stage::of(Release).await;
    stage.double.truth.borrow_mut().silent.insert("mark");
    assert!(matches!(stage.perform().await, Err(Failed::InDoubt(_))));
    assert_eq!(stage.acts(), ["mark"]);
}

/// 40 pods are three batches: before the second and the third everything is looked at again.
#[tokio::test(start_paused = true)]
async fn a_release_of_many_pods_is_looked_at_between_its_batches() {
    let stage = Stage::with_pods(Release, 40, |_, _, _| {}).await;
    assert_eq!(stage.perform().await, Ok(Done::Released(40)));
    assert_eq!(stage.times("stopped").len(), 3);
    let stops: [At; 3] = [
        |call, before, truth| {
            if (call, before) == ("delete", 0) {
                truth.stopped = Some("a person".into());
            }
        },
        |call, before, truth| {
            if (call, before) == ("delete", 0) {
                truth.node.as_mut().expect("it is there").taints.clear();
            }
        },
        |call, before, truth| {
            if (call, before) == ("delete", 0) {
                truth.lease.as_mut().expect("it is there").holder = "it speaks".into();
            }
        },
    ];
    for stop in stops {
        let stage = Stage::with_pods(Release, 40, stop).await;
        let outcome = stage.perform().await;
        assert!(matches!(outcome, Err(Failed::InDoubt(_))), "a part of it went: {outcome:?}");
        assert_eq!(stage.times("delete").len(), 16);
    }
}

#[tokio::test(start_paused = true)]
async fn on_that_is_read_beside_a_long_release_ends_it() {
    let stage = Stage::with_pods(Release, 40, |_, _, _| {}).await;
    stage.double.truth.borrow_mut().slow.insert("delete", Duration::from_secs(1));
    let heard = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        stage.cache.gather("n", |gathered| gathered.last_on_answer = Some(stage.clock.moment()));
    };
    let (outcome, ()) = tokio::join!(stage.perform(), heard);
    assert!(matches!(outcome, Err(Failed::InDoubt(_))), "{outcome:?}");
    assert_eq!(stage.times("delete").len(), 16);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_gone_is_released_and_a_lost_answer_is_asked_for_again() {
    let lost = || ApiError::NoAnswer("lost".into());
    for (refusals, deletions) in [(vec![ApiError::NotFound], 3), (vec![lost()], 4), (vec![lost(), lost()], 5)] {
        let stage = Stage::of(Release).await;
        stage.double.truth.borrow_mut().refusals = refusals.clone().into();
        assert_eq!(stage.perform().await, Ok(Done::Released(3)), "{refusals:?}");
        assert_eq!(stage.times("delete").len(), deletions, "{refusals:?}");
    }
    let stage = Stage::of(Release).await;
    stage.double.truth.borrow_mut().refusals = [ApiError::Refused { code: 403, message: "no".into() }].into();
    assert!(matches!(stage.perform().await, Err(Failed::Refused(_))));
}

/// The answer was waited for meanwhile.
#[tokio::test(start_paused = true)]
async fn a_deletion_without_an_answer_is_not_asked_for_again_after_a_stop() {
    let deleted: At = |call, before, truth| {
        if (call, before) == ("delete", 2) {
            truth.fence = None;
        }
    };
    let stage = Stage::at(Release, deleted).await;
    stage.double.truth.borrow_mut().refusals = [ApiError::NoAnswer("lost".into())].into();
    let outcome = stage.perform().await;
    assert!(matches!(outcome, Err(Failed::InDoubt(_))), "{outcome:?}");
    assert_eq!((stage.times("delete").len(), stage.times("stopped").len()), (3, 2));
}

/// It may live on: it gets no taint, and what it bears names the boot whose pods went.
#[tokio::test(start_paused = true)]
async fn a_node_that_is_cut_off_its_storage_is_not_tainted() {
    let mut stage = Stage::of(Release).await;
    stage.rewrite(|fence| fence.status.storage_only = Some("san".into()));
    // It speaks, as it may.
    stage.double.truth.borrow_mut().lease.as_mut().expect("it is there").holder = "it speaks".into();
    assert_eq!(stage.perform().await, Ok(Done::Released(3)));
    let calls: Vec<String> = stage.double.calls().into_iter().map(|(_, call)| call).collect();
    assert!(calls.contains(&"mark storage of old".to_owned()) && calls.contains(&"read san".to_owned()), "{calls:?}");
    assert!(stage.double.truth.borrow().node.as_ref().expect("it is there").taints.is_empty());
    let mut on = Stage::of(Release).await;
    on.rewrite(|fence| fence.status.storage_only = Some("san".into()));
    on.bmc([On]);
    refused(&on).await;
    let mut unknown = Stage::of(Release).await;
    unknown.rewrite(|fence| {
        fence.status.storage_only = Some("san".into());
        fence.status.off.iter_mut().for_each(|off| off.boot_id.clear());
        fence.status.boot_id.clear();
    });
    unknown.double.truth.borrow_mut().node.as_mut().expect("it is there").boot_id.clear();
    unknown.bmc([Off]);
    refused(&unknown).await;
}

/// While everything else is looked at.
#[tokio::test(start_paused = true)]
async fn on_that_is_answered_right_before_the_taint_forbids_it() {
    let stage = Stage::of(Release).await;
    stage.double.truth.borrow_mut().slow.insert("stopped", Duration::from_millis(300));
    let flaps = async {
        sleep(Duration::from_millis(100)).await;
        let now = stage.clock.moment();
        stage.cache.gather("n", |gathered| gathered.last_on_answer = Some(now));
    };
    let (outcome, ()) = tokio::join!(stage.perform(), flaps);
    assert_eq!(outcome, Err(Failed::NotBegun("it is On again".into())));
    assert!(stage.acts().is_empty(), "{:?}", stage.names());
}

/// Its silence was the evidence, and that has been broken since, however long ago.
#[tokio::test(start_paused = true)]
async fn a_renewal_since_the_power_was_cut_forbids_it_unless_a_drain_left_nothing() {
    let mut stage = Stage::of(Release).await;
    stage.rewrite(|fence| fence.status.lease_renewed = None);
    refused(&stage).await;
    let drain = DrainReport { done: true, refused_evictions: Vec::new(), left: 0 };
    stage.rewrite(|fence| fence.status.drain = Some(drain));
    assert_eq!(stage.perform().await, Ok(Done::Released(3)));
}
