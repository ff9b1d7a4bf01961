//! A line right before each act that cannot be taken back, one when its end is known, and one for each change
//! of a record.

use std::sync::{Arc, Mutex};

use nodewell_remediation::{
    action::{Action, EventDraft, Failed, IrreversibleOp, Op, ReversibleOp},
    api::fence::{IntendedOp, NodeFence, Phase},
};
use tokio::sync::watch;

use super::{
    double::{Double, Truth},
    stage::{EPOCH, Stage},
};
use crate::{
    audit::{Audit, AuditEntry, Audited},
    executor::{Executor, Settings},
    lease_deadline::LeaseDeadline,
};

/// Calls that act or write.
const NOTED: [&str; 8] = ["open", "save", "close", "off", "on", "reap", "mark", "delete"];

/// These calls and the lines of the audit, in the order in which they came.
#[derive(Clone, Default)]
struct Trail {
    order: Arc<Mutex<Vec<String>>>,
    entries: Arc<Mutex<Vec<AuditEntry>>>,
}

fn summary(what: &Audited) -> String {
    match what {
        Audited::ActBegins { act, .. } => format!("{act} begins"),
        Audited::ActEnds { act, outcome, .. } => format!("{act} ends {outcome}"),
        Audited::Phase { from, to, .. } => {
            let from = from.map_or_else(|| "none".to_owned(), |from| format!("{from:?}"));
            format!("{from} to {to:?}")
        }
        Audited::RecordEnds { reason, .. } => format!("ended: {reason}"),
    }
}

impl Trail {
    fn note(&self, what: &str) {
        self.order.lock().unwrap().push(what.to_owned());
    }

    fn audit(&self) -> Audit {
        let trail = self.clone();
        Audit::new(move |entry| {
            trail.note(&summary(&entry.what));
            trail.entries.lock().unwrap().push(entry);
        })
    }

    /// The stage, its calls noted; `happens` at each.
    fn watching(&self, stage: Stage, happens: impl Fn(&str, &mut Truth) + 'static) -> Stage {
        let (trail, truth) = (self.clone(), stage.double.truth.take());
        let call = move |call: &str, _: usize, truth: &mut Truth| {
            if NOTED.contains(&call) {
                trail.note(call);
            }
            happens(call, truth);
        };
        Stage { double: Double::new(truth, Box::new(call)), ..stage }
    }

    fn order(&self) -> Vec<String> {
        std::mem::take(&mut *self.order.lock().unwrap())
    }

    fn entries(&self) -> Vec<AuditEntry> {
        self.entries.lock().unwrap().clone()
    }
}

async fn staged(op: IntendedOp, phase: Phase) -> (Stage, Trail) {
    let trail = Trail::default();
    let mut stage = trail.watching(Stage::of(op).await, |_, _| {});
    stage.rewrite(|fence| fence.status.phase = phase);
    (stage, trail)
}

async fn act(stage: &Stage, trail: &Trail, action: Action) {
    let settings = Settings { dry_run: false, audit: trail.audit(), ..Settings::default() };
    stage.cache.with(|snapshot| snapshot.epoch = EPOCH);
    let executor = Executor::new(&stage.double, &stage.double, &stage.cache, stage.clock, settings);
    let (_open, until) = watch::channel(stage.clock.moment().plus(stage.term));
    executor.act(action, LeaseDeadline::new(EPOCH, until)).await;
}

fn performs(stage: &Stage, op: impl Into<Op>) -> Action {
    Action::Perform { fence: boxed(&stage.fence), op: op.into() }
}

fn boxed(fence: &NodeFence) -> Box<NodeFence> {
    Box::new(fence.clone())
}

fn why() -> EventDraft {
    EventDraft { reason: "FenceClosed".into(), message: "it is well".into(), warning: false }
}

fn phase_of(stage: &Stage) -> Phase {
    stage.double.truth.borrow().fence.as_ref().expect("it is there").status.phase
}

#[tokio::test(start_paused = true)]
async fn each_act_has_a_line_right_before_it_and_one_when_its_end_is_known() {
    let acts: [(IntendedOp, Phase, &str, &[&str]); 4] = [
        (IntendedOp::PowerOff, Phase::PoweringOff, "powerOff", &["off"]),
        (IntendedOp::PowerOn, Phase::PoweringOn, "powerOn", &["on"]),
        (IntendedOp::Reap, Phase::Reaping, "reap", &["reap"]),
        (IntendedOp::Release, Phase::PodsReleased, "release of 3 pods", &["mark", "delete", "delete", "delete"]),
    ];
    for (intended, phase, name, calls) in acts {
        let (stage, trail) = staged(intended, phase).await;
        let op = match intended {
            IntendedOp::PowerOff => IrreversibleOp::PowerOff,
            IntendedOp::PowerOn => IrreversibleOp::PowerOn,
            IntendedOp::Reap => IrreversibleOp::Reap,
            IntendedOp::Release => IrreversibleOp::Release { pods: stage.pods() },
        };
        act(&stage, &trail, performs(&stage, op)).await;
        let mut expected = vec![format!("{name} begins")];
        expected.extend(calls.iter().map(|call| (*call).to_owned()));
        expected.extend([format!("{name} ends done"), "save".to_owned()]);
        let after = phase_of(&stage);
        expected.extend((after != phase).then(|| format!("{phase:?} to {after:?}")));
        assert_eq!(trail.order(), expected);
        for entry in trail.entries() {
            assert_eq!((entry.term, entry.node.as_str(), entry.record.as_str()), (EPOCH, "n", "f"), "{entry:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_line_of_an_end_has_what_went_wrong_also_where_nothing_was_begun() {
    type Change = fn(&mut Truth);
    let no_answer: Change = |truth| truth.order = Some(Failed::InDoubt("no answer".into()));
    let stopped: Change = |truth| truth.stopped = Some("a person".into());
    let changes: [(&str, &[&str], Change); 2] = [
        ("no answer", &["off", "powerOff ends inDoubt"], no_answer),
        ("a person", &["powerOff ends notBegun"], stopped),
    ];
    for (wrong, after, change) in changes {
        let (stage, trail) = staged(IntendedOp::PowerOff, Phase::PoweringOff).await;
        change(&mut stage.double.truth.borrow_mut());
        act(&stage, &trail, performs(&stage, IrreversibleOp::PowerOff)).await;
        let order = trail.order();
        let expected = [&["powerOff begins"][..], after].concat();
        assert!(order.iter().take(expected.len()).eq(&expected), "{order:?}");
        let ends = |entry: &AuditEntry| match &entry.what {
            Audited::ActEnds { message, .. } => message.contains(wrong),
            Audited::ActBegins { .. } | Audited::Phase { .. } | Audited::RecordEnds { .. } => false,
        };
        assert!(trail.entries().iter().any(ends), "{:?}", trail.entries());
    }
}

#[tokio::test(start_paused = true)]
async fn what_can_be_taken_back_has_no_line_of_its_own() {
    let (stage, trail) = staged(IntendedOp::PowerOff, Phase::Isolating).await;
    act(&stage, &trail, performs(&stage, ReversibleOp::Cordon)).await;
    let is_act = |entry: &AuditEntry| matches!(entry.what, Audited::ActBegins { .. } | Audited::ActEnds { .. });
    assert!(stage.names().contains(&"cordon".to_owned()) && !trail.entries().iter().any(is_act), "{:?}", trail.order());
}

#[tokio::test(start_paused = true)]
async fn each_change_of_a_record_has_a_line_once_it_is_stored() {
    let (mut stage, trail) = staged(IntendedOp::PowerOff, Phase::Pending).await;
    stage.double.truth.borrow_mut().fence = None;
    stage.cache.with(|snapshot| snapshot.fences.clear());
    act(&stage, &trail, Action::Open(boxed(&stage.to_open()))).await;
    assert_eq!(trail.order(), ["open", "save", "none to Pending"]);
    stage.fence.status.failures = 2;
    let save = |stage: &Stage| Action::Save { fence: boxed(&stage.fence), why: why() };
    act(&stage, &trail, save(&stage)).await;
    assert_eq!(trail.order(), ["save"], "its phase is what it was");
    stage.fence.status.phase = Phase::Isolating;
    act(&stage, &trail, save(&stage)).await;
    assert_eq!(trail.order(), ["save", "Pending to Isolating"]);
    stage.fence.status.phase = Phase::Draining;
    stage.double.truth.borrow_mut().silent.insert("save");
    act(&stage, &trail, save(&stage)).await;
    assert_eq!(trail.order(), ["save"], "it may not be stored");
    act(&stage, &trail, Action::Close { fence: boxed(&stage.fence), why: why() }).await;
    assert_eq!(trail.order(), ["close", "ended: FenceClosed"]);
}

/// A finalizer keeps it.
#[tokio::test(start_paused = true)]
async fn a_record_that_is_not_gone_has_not_ended() {
    let stage = Stage::of(IntendedOp::PowerOff).await;
    let (trail, stays) = (Trail::default(), stage.fence.clone());
    let stage = trail.watching(stage, move |call, truth| {
        if call == "fence" {
            truth.fence = Some(stays.clone());
        }
    });
    act(&stage, &trail, Action::Close { fence: boxed(&stage.fence), why: why() }).await;
    assert_eq!(trail.order(), ["close"]);
}
