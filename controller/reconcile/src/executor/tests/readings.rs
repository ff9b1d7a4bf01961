//! Readings of the power, as they are asked for and as they are remembered.

use std::time::Duration;

use nodewell_remediation::{
    action::{Done, Op, Outcome, ReversibleOp},
    api::fence::IntendedOp,
    snapshot::PowerState::{self, Off, On, Unknown},
    time::Moment,
};
use tokio::sync::watch;

use super::stage::{EPOCH, Stage};
use crate::{
    executor::{Executor, Settings},
    lease_deadline::LeaseDeadline,
};

async fn read(stage: &Stage, times: u32) -> Outcome {
    let executor = Executor::new(&stage.double, &stage.double, &stage.cache, stage.clock, Settings::default());
    let (_open, until) = watch::channel(Moment(Duration::MAX));
    executor
        .perform(&stage.fence, &Op::from(ReversibleOp::ReadPower { times }), &LeaseDeadline::new(EPOCH, until))
        .await
}

#[tokio::test(start_paused = true)]
async fn each_reading_is_asked_for_by_itself_a_second_after_the_one_before() {
    let tables: [[PowerState; 2]; 6] =
        [[Off, Off], [Off, Unknown], [Unknown, Off], [Off, On], [On, Off], [Unknown, On]];
    for reports in tables {
        let stage = Stage::of(IntendedOp::Release).await;
        stage.bmc(reports);
        let outcome = read(&stage, 2).await;
        let Ok(Done::Power(states)) = outcome else { panic!("{outcome:?}") };
        assert_eq!(states[..2], reports);
        let reads = stage.times("read");
        assert!(reads.len() == 2 && reads[1] - reads[0] >= Duration::from_secs(1), "{reads:?}");
    }
}

/// Between the two, to another caller.
#[tokio::test(start_paused = true)]
async fn on_that_another_caller_was_reported_is_among_the_readings() {
    let stage = Stage::of(IntendedOp::Release).await;
    let later = stage.clock.moment().plus(Duration::from_millis(500));
    stage.cache.gather("n", |gathered| gathered.last_on_answer = Some(later));
    assert_eq!(read(&stage, 2).await, Ok(Done::Power(vec![Off, Off, On])));
    let stage = Stage::of(IntendedOp::Release).await;
    let before = Moment(stage.clock.moment().0 - Duration::from_millis(1));
    stage.cache.gather("n", |gathered| gathered.last_on_answer = Some(before));
    assert_eq!(read(&stage, 2).await, Ok(Done::Power(vec![Off, Off])));
}

/// What is remembered is as old as the question, and On is remembered beside it as late as its answer.
#[tokio::test(start_paused = true)]
async fn a_reading_is_as_old_as_its_question() {
    let stage = Stage::of(IntendedOp::Release).await;
    let began = stage.clock.moment();
    stage.double.truth.borrow_mut().slow.insert("read", Duration::from_secs(12));
    stage.bmc([On, Off]);
    read(&stage, 2).await.expect("it was read");
    let (readings, on) = stage.cache.with(|snapshot| {
        let gathered = &snapshot.gathered["n"];
        (gathered.power.clone(), gathered.last_on_answer)
    });
    assert_eq!(readings.iter().map(|reading| reading.state).collect::<Vec<_>>(), [On, Off]);
    assert_eq!((readings[0].at, readings[1].at), (began, began.plus(Duration::from_secs(13))));
    assert_eq!(on, Some(began.plus(Duration::from_secs(12))));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_come_is_unknown() {
    let stage = Stage::of(IntendedOp::Release).await;
    stage.double.truth.borrow_mut().slow.insert("read", Duration::from_secs(21));
    assert_eq!(read(&stage, 2).await, Ok(Done::Power(vec![Unknown, Unknown])));
    let readings = stage.cache.with(|snapshot| snapshot.gathered["n"].power.clone());
    assert!(readings.iter().all(|reading| reading.state == Unknown));
}

/// The switch of a storage says nothing of a machine whose record cuts its power.
#[tokio::test(start_paused = true)]
async fn what_the_record_does_not_cut_is_no_reading_of_it() {
    let mut stage = Stage::of(IntendedOp::Release).await;
    stage.fence.status.storage_only = Some("san".into());
    stage.bmc([On, Off]);
    read(&stage, 2).await.expect("it was read");
    let known = stage.cache.with(|snapshot| snapshot.gathered.get("n").cloned()).unwrap_or_default();
    assert!(known.power.is_empty() && known.last_on_answer.is_none(), "{known:?}");
}
