//! Questions of the loop: how many at once, what of a level that is not acted by, and what becomes of answers about something
//! else.

use std::time::Duration;

use nodewell_remediation::{
    api::fence::IntendedOp,
    decide::{Decision, GatherRequest, Memory},
    snapshot::{
        FenceLevel, FencePlan, Gathered, Level,
        PowerState::{Off, On, Unknown},
        Snapshot,
    },
    time::{Moment, Now},
};

use super::{
    double::Truth,
    rounds::{for_real, run_for},
    stage::Stage,
};
use crate::executor::Settings;

const SECOND: Duration = Duration::from_secs(1);

fn asks(_: &Snapshot, memory: Memory, _: Now) -> Decision {
    let request = GatherRequest { pods: true, methods: true, power: Some(4 * SECOND), ..GatherRequest::default() };
    Decision { memory, gather: [("n".to_owned(), request)].into(), ..Decision::default() }
}

fn level(asks_machine: bool) -> FenceLevel {
    FenceLevel { identity: Some(Ok(())), asks_machine, ..FenceLevel::default() }
}

fn gathered(stage: &Stage) -> Gathered {
    stage.cache.with(|snapshot| snapshot.gathered.get("n").cloned()).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn no_more_questions_are_under_way_than_the_settings_allow() {
    for (questions, asked) in [(1, vec!["pods"]), (2, vec!["pods", "plan"])] {
        let stage = Stage::of(IntendedOp::Release).await;
        stage.double.truth.borrow_mut().slow.extend([("pods", 9 * SECOND), ("plan", 9 * SECOND)]);
        run_for(&stage, asks, Settings { questions, ..for_real() }, 5 * SECOND).await;
        assert_eq!(stage.names(), asked, "{questions}");
    }
}

/// What the switch of a storage reported proves nothing of a machine's power, and a list without claims hides pods.
#[tokio::test(start_paused = true)]
async fn answers_are_forgotten_when_the_methods_cut_something_else() {
    let becomes = |call: &str, before: usize, truth: &mut Truth| {
        if (call, before) == ("plan", 1) {
            truth.plan.as_mut().expect("there is one").storage_only = Some("san".into());
        }
    };
    for (happens, are_forgotten) in [(becomes as super::stage::At, true), (|_, _, _| {}, false)] {
        let mut stage = Stage::at(IntendedOp::Release, happens).await;
        stage.double.truth.borrow_mut().plan = Some(FencePlan { levels: vec![level(true)], ..FencePlan::default() });
        stage.rewrite(|fence| (fence.status.intent, fence.status.off) = (None, None));
        stage.cache.gather("n", |gathered| gathered.last_on_answer = Some(Moment::default()));
        let began = stage.clock.moment();
        run_for(&stage, asks, for_real(), 36 * SECOND).await;
        let oldest = gathered(&stage).power.first().expect("it was read").at;
        assert_eq!(oldest.since(began) >= 30 * SECOND, are_forgotten, "{oldest:?}");
    }
}

/// The record acts by its outlets: both levels are read, and On by an outlet that is not acted by says nothing.
#[tokio::test(start_paused = true)]
async fn both_levels_are_read_of_a_record_that_acts_by_the_second() {
    for (first, second, asks_machine, is_on) in [
        (On, Off, true, true),
        (On, Off, false, false),
        (Unknown, On, true, true),
        (Unknown, On, false, true),
        (Unknown, Off, true, false),
    ] {
        let mut stage = Stage::of(IntendedOp::Release).await;
        let plan = FencePlan { levels: vec![level(asks_machine), level(false)], ..FencePlan::default() };
        stage.double.truth.borrow_mut().plan = Some(plan);
        let zero = Duration::ZERO;
        stage.double.truth.borrow_mut().levels.extend([(Level(1), (first, zero)), (Level(2), (second, zero))]);
        stage.rewrite(|fence| fence.status.level = Level(2));
        run_for(&stage, asks, for_real(), 6 * SECOND).await;
        let known = gathered(&stage);
        assert_eq!(known.last_on_answer.is_some(), is_on, "{first:?} {second:?} {asks_machine}: {known:?}");
        for (level, state) in [(Level(1), first), (Level(2), second)] {
            let mut of_level = known.power.iter().filter(|reading| reading.level == level).peekable();
            assert!(of_level.peek().is_some(), "{level}: {known:?}");
            assert!(of_level.all(|reading| reading.state == state), "{level}: {known:?}");
        }
    }
}
