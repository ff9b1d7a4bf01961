//! A record that acts by its outlets, and the BMC that they were used instead of.

use std::time::Duration;

use nodewell_remediation::{
    action::{Done, Failed},
    api::fence::IntendedOp,
    snapshot::{
        FenceLevel, FencePlan, Level,
        PowerState::{self, Off, On, Unknown},
    },
    time::Moment,
};

use super::stage::Stage;

const BMC: Level = Level(1);
const PDU: Level = Level(2);

/// The record acts by the second level; the first one reports `bmc`, so late.
async fn by_outlets(op: IntendedOp, bmc: PowerState, after: Duration, asks_machine: bool) -> Stage {
    let mut stage = Stage::of(op).await;
    let level = |asks_machine| FenceLevel { identity: Some(Ok(())), asks_machine, ..FenceLevel::default() };
    let plan = FencePlan { levels: vec![level(asks_machine), level(false)], ..FencePlan::default() };
    stage.cache.gather("n", |gathered| gathered.methods = Some(Ok(plan)));
    stage.rewrite(|fence| fence.status.level = PDU);
    stage.double.truth.borrow_mut().levels.insert(BMC, (bmc, after));
    stage
}

#[tokio::test(start_paused = true)]
async fn a_bmc_that_reports_on_after_all_speaks_against_off_by_the_outlets() {
    for op in [IntendedOp::PowerOff, IntendedOp::Release] {
        let stage = by_outlets(op, On, Duration::from_secs(2), true).await;
        let outcome = stage.perform().await;
        assert!(matches!(outcome, Err(Failed::Timeout(_) | Failed::NotBegun(_))), "{op:?}: {outcome:?}");
        assert!(!stage.names().contains(&"mark".to_owned()));
    }
}

/// It was asked half a minute ago, and had no answer.
fn silent(stage: &Stage) {
    let since = Moment(stage.clock.moment().0.saturating_sub(Duration::from_secs(30)));
    stage.cache.gather("n", |gathered| gathered.unanswered = [(BMC, since)].into());
}

async fn took(stage: &Stage) -> Duration {
    let began = stage.clock.moment();
    stage.perform().await.expect("the outlets are off");
    stage.clock.moment().since(began)
}

#[tokio::test(start_paused = true)]
async fn a_bmc_that_is_dead_is_waited_for_once() {
    for (op, limit) in [(IntendedOp::PowerOff, 5), (IntendedOp::Release, 3)] {
        for after in [Duration::ZERO, Duration::from_secs(60)] {
            let stage = by_outlets(op, Unknown, after, true).await;
            let took = took(&stage).await;
            assert!(took <= Duration::from_secs(limit), "{op:?}: {took:?}: 3 s, and those between two readings");
        }
    }
}

/// What it was asked before the order tells nothing of the time after it.
#[tokio::test(start_paused = true)]
async fn a_bmc_that_was_dead_before_has_its_time_after_the_order() {
    let stage = by_outlets(IntendedOp::PowerOff, On, Duration::from_secs(2), true).await;
    silent(&stage);
    assert_eq!(stage.perform().await, Err(Failed::Timeout(Duration::from_secs(60))));
    let stage = by_outlets(IntendedOp::PowerOff, Unknown, Duration::from_secs(60), true).await;
    silent(&stage);
    assert!(took(&stage).await >= Duration::from_secs(3));
}

/// It was waited for with the order.
#[tokio::test(start_paused = true)]
async fn a_release_does_not_wait_again_for_a_bmc_that_is_dead() {
    let stage = by_outlets(IntendedOp::Release, Unknown, Duration::from_secs(60), true).await;
    silent(&stage);
    assert!(took(&stage).await < Duration::from_secs(1));
}

/// It is asked beside each decision, and by no question that is given up with the reading: that would be a login without an
/// answer.
#[tokio::test(start_paused = true)]
async fn a_bmc_that_was_dead_is_left_to_the_questions_of_decisions() {
    let stage = by_outlets(IntendedOp::Release, On, Duration::ZERO, true).await;
    silent(&stage);
    stage.perform().await.expect("none asks the BMC");
    let stage = by_outlets(IntendedOp::Release, Unknown, Duration::from_secs(60), true).await;
    silent(&stage);
    stage.cache.gather("n", |gathered| gathered.last_on_answer = Some(stage.clock.moment()));
    assert!(matches!(stage.perform().await, Err(Failed::NotBegun(_))), "one of them has heard On");
    assert!(!stage.names().contains(&"mark".to_owned()));
}

/// A level that was not asked for a minute is not known to be silent.
#[tokio::test(start_paused = true)]
async fn a_bmc_that_was_not_asked_lately_has_its_time() {
    let stage = by_outlets(IntendedOp::Release, On, Duration::from_secs(2), true).await;
    silent(&stage);
    tokio::time::sleep(Duration::from_secs(40)).await;
    assert!(matches!(stage.perform().await, Err(Failed::NotBegun(_))));
}

/// An outlet that is On feeds a machine that is off.
#[tokio::test(start_paused = true)]
async fn on_by_an_outlet_of_another_level_is_not_even_asked_for() {
    let stage = by_outlets(IntendedOp::PowerOff, On, Duration::ZERO, false).await;
    assert!(matches!(stage.perform().await, Ok(Done::Off(_))));
    let readings = stage.cache.with(|snapshot| snapshot.gathered["n"].power.clone());
    assert!(readings.iter().all(|reading| reading.level == PDU && !reading.asks_machine), "{readings:?}");
}

/// Its plug of another level, or the plug of a machine whose storage alone is meant, is not turned.
#[tokio::test(start_paused = true)]
async fn an_order_goes_to_what_the_record_cuts_and_to_nothing_else() {
    for (op, order) in [(IntendedOp::PowerOff, "off"), (IntendedOp::PowerOn, "on")] {
        for (storage, level, of) in [(None, BMC, "level 1"), (None, PDU, "level 2"), (Some("san"), BMC, "san")] {
            let mut stage = Stage::of(op).await;
            stage.rewrite(|fence| {
                (fence.status.storage_only, fence.status.level) = (storage.map(str::to_owned), level);
            });
            stage.perform().await.expect("nothing forbids it");
            let calls: Vec<String> = stage.double.calls().into_iter().map(|(_, call)| call).collect();
            let orders: Vec<&String> = calls.iter().filter(|call| call.starts_with(&format!("{order} "))).collect();
            assert_eq!(orders, [&format!("{order} {of}")], "{calls:?}");
        }
    }
}

/// From the first question without an answer, whichever kind of answer that was, to the first one with one.
#[tokio::test(start_paused = true)]
async fn a_level_is_unanswered_since_its_question() {
    let stage = by_outlets(IntendedOp::PowerOff, Unknown, Duration::ZERO, true).await;
    stage.perform().await.expect("the outlets are off");
    let began = stage.cache.with(|snapshot| snapshot.gathered["n"].unanswered.clone());
    assert_eq!(began.keys().collect::<Vec<_>>(), [&BMC]);
    stage.double.truth.borrow_mut().levels.insert(BMC, (Off, Duration::ZERO));
    stage.perform().await.expect("the outlets are off");
    assert!(stage.cache.with(|snapshot| snapshot.gathered["n"].unanswered.is_empty()));
}

/// From the answer on: what the kubelet renewed while the question was under way contradicts nothing.
#[tokio::test(start_paused = true)]
async fn a_level_has_reported_off_since_its_answer() {
    let stage = by_outlets(IntendedOp::PowerOff, Off, Duration::from_secs(2), true).await;
    let asked = stage.clock.moment();
    stage.perform().await.expect("the outlets are off");
    let runs = stage.cache.with(|snapshot| snapshot.gathered["n"].off_runs.clone());
    assert_eq!(runs.keys().collect::<Vec<_>>(), [&BMC, &PDU]);
    assert!(runs[&BMC].since.since(asked) >= Duration::from_secs(2), "{runs:?}");
    stage.double.truth.borrow_mut().levels.insert(BMC, (On, Duration::ZERO));
    let _ = stage.perform().await;
    let runs = stage.cache.with(|snapshot| snapshot.gathered["n"].off_runs.clone());
    assert!(!runs.contains_key(&BMC), "{runs:?}");
}
