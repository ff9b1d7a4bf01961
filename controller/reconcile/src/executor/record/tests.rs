//! Writing records where the API server does not answer at first.

mod unanswered;

use std::{
    cell::RefCell,
    sync::{Arc, Mutex},
};

use jiff::Timestamp;
use nodewell_remediation::{
    action::Done,
    api::{
        Meta,
        fence::{Confirmation, NodeFenceSpec, NodeFenceStatus, Phase},
    },
    node_report::NodeReport,
    snapshot::PowerState,
    time::Moment,
};
use tokio::sync::watch;

use super::*;
use crate::{
    audit::{Audit, AuditEntry, Audited},
    cache::{Cache, Limits},
    clock::Clock,
    executor::Settings,
};

/// One record; so many writes of it get no answer. Nothing else is asked for.
struct OneRecord(RefCell<(NodeFence, u32)>);

fn none<T>() -> Result<T, ApiError> {
    Err(ApiError::NotFound)
}

impl Records for OneRecord {
    async fn fence(&self, _: &str) -> Result<Option<NodeFence>, ApiError> {
        Ok(Some(self.0.borrow().0.clone()))
    }

    async fn open(&self, _: &NodeFence) -> Result<NodeFence, ApiError> {
        none()
    }

    async fn save(&self, fence: &NodeFence) -> Result<NodeFence, ApiError> {
        let mute = self.0.borrow().1.checked_sub(1);
        if let Some(left) = mute {
            sleep(Duration::from_secs(2)).await;
            self.0.borrow_mut().1 = left;
            return Err(ApiError::NoAnswer("mute".into()));
        }
        self.0.borrow_mut().0 = fence.clone();
        Ok(fence.clone())
    }

    async fn close(&self, _: &NodeFence) -> Result<(), ApiError> {
        none()
    }
}

fn off_confirmed() -> NodeFence {
    let at = Timestamp::UNIX_EPOCH;
    let off = Confirmation { at, reads: 2, by: Vec::new(), boot_id: "old".into(), already_off: false, epoch: 1 };
    NodeFence {
        metadata: Meta { name: "n".into(), uid: "u".into(), resource_version: "1".into(), ..Meta::default() },
        spec: NodeFenceSpec { node_name: "n".into(), node_uid: "n".into(), ..NodeFenceSpec::default() },
        status: NodeFenceStatus { phase: Phase::OffConfirmed, off: Some(off), ..NodeFenceStatus::default() },
    }
}

/// Or a machine that was turned on meanwhile would be tainted by a reading that only looks young.
#[tokio::test(start_paused = true)]
async fn a_reading_that_was_written_late_is_as_old_as_it_is() {
    let clock = Clock::counted(Timestamp::constant(1000, 0));
    let cache = Cache::new(clock, Limits::default());
    let cluster = OneRecord(RefCell::new((off_confirmed(), 3)));
    let executor = Executor::new(&cluster, &(), &cache, clock, Settings::default());
    let (_open, until) = watch::channel(Moment(Duration::from_secs(60)));
    let outcome = Ok(Done::Power(vec![PowerState::Off; 2]));
    let step = ReversibleOp::ReadPower { times: 2 }.into();
    executor.save_outcome(&off_confirmed(), &step, &outcome, &LeaseDeadline::new(1, until)).await;
    assert!(clock.moment() >= Moment(Duration::from_secs(6)), "it was written late");
    let off = cluster.0.borrow().0.status.off.clone().unwrap();
    assert_eq!((off.at, off.reads), (Timestamp::constant(1000, 0), 4));
}

/// What was written to the audit while one outcome was saved.
async fn audited(before: NodeFence, step: Op, outcome: Outcome) -> Vec<AuditEntry> {
    let clock = Clock::counted(Timestamp::constant(1000, 0));
    let cache = Cache::new(clock, Limits::default());
    cache.with(|snapshot| snapshot.epoch = 7);
    let cluster = OneRecord(RefCell::new((before.clone(), 0)));
    let lines = Arc::new(Mutex::new(Vec::new()));
    let taken = Arc::clone(&lines);
    let audit = Audit::new(move |entry| taken.lock().unwrap().push(entry));
    let executor = Executor::new(&cluster, &(), &cache, clock, Settings { audit, ..Settings::default() });
    let (_open, until) = watch::channel(Moment(Duration::from_secs(60)));
    executor.save_outcome(&before, &step, &outcome, &LeaseDeadline::new(7, until)).await;
    let lines = lines.lock().unwrap();
    lines.clone()
}

#[tokio::test]
async fn each_change_of_phase_is_a_line_with_who_and_why_and_nothing_else_is() {
    use nodewell_remediation::{action::IrreversibleOp, api::ASKED_BY, api::fence::IntendedOp, api::fence::Intent};
    let mut off = off_confirmed();
    (off.status.phase, off.status.off) = (Phase::PoweringOff, None);
    off.spec.cause = "its Lease is silent".into();
    off.metadata.annotations.insert(ASKED_BY.into(), "eva: its shelf burns".into());
    off.status.intent = Some(Intent { op: IntendedOp::PowerOff, epoch: 7, at: Timestamp::UNIX_EPOCH, pods: 0 });
    let failed = Err(nodewell_remediation::action::Failed::InDoubt("no answer".into()));
    let lines = audited(off, IrreversibleOp::PowerOff.into(), failed).await;
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!((line.term, line.node.as_str(), line.record.as_str()), (7, "n", "u"));
    assert_eq!(line.cause, "its Lease is silent");
    assert_eq!(line.asked_by.as_deref(), Some("eva: its shelf burns"));
    assert!(
        matches!(&line.what, Audited::Phase { from: Some(Phase::PoweringOff), to: Phase::InDoubt, .. }),
        "{:?}",
        line.what
    );
    let read = ReversibleOp::ReadPower { times: 2 }.into();
    assert_eq!(
        audited(off_confirmed(), read, Ok(Done::Power(vec![PowerState::Off; 2]))).await,
        [],
        "a reading is no change"
    );
}

/// A store whose watch shows what is written before the answer comes.
struct Watched(Cache);

impl Records for Watched {
    async fn fence(&self, name: &str) -> Result<Option<NodeFence>, ApiError> {
        Ok(self.0.with(|snapshot| snapshot.fences.get(name).cloned()))
    }

    /// Of what is created the status is dropped.
    async fn open(&self, fence: &NodeFence) -> Result<NodeFence, ApiError> {
        self.save(&NodeFence { status: NodeFenceStatus::default(), ..fence.clone() }).await
    }

    async fn save(&self, fence: &NodeFence) -> Result<NodeFence, ApiError> {
        self.0.apply_fence(fence.clone());
        Ok(fence.clone())
    }

    async fn close(&self, _: &NodeFence) -> Result<(), ApiError> {
        none()
    }
}

#[tokio::test]
async fn a_change_of_phase_is_a_line_also_where_the_watch_shows_it_first() {
    let clock = Clock::counted(Timestamp::constant(1000, 0));
    let cluster = Watched(Cache::new(clock, Limits::default()));
    let lines = Arc::new(Mutex::new(Vec::new()));
    let taken = Arc::clone(&lines);
    let audit = Audit::new(move |entry: AuditEntry| taken.lock().unwrap().push(entry.what));
    let executor = Executor::new(&cluster, &(), &cluster.0, clock, Settings { audit, ..Settings::default() });
    let (_open, until) = watch::channel(Moment(Duration::from_secs(60)));
    let phase = |phase| {
        let of = off_confirmed();
        NodeFence { status: NodeFenceStatus { phase, ..of.status.clone() }, ..of }
    };
    let lease_deadline = LeaseDeadline::new(1, until);
    executor.open(phase(Phase::Isolating), &lease_deadline).await;
    for next in [Phase::OffConfirmed, Phase::OffConfirmed, Phase::PodsReleased] {
        executor.save(phase(next), why(), &lease_deadline).await;
    }
    let changes = lines.lock().unwrap();
    let changes: Vec<_> = changes
        .iter()
        .map(|what| match what {
            Audited::Phase { from, to, .. } => (*from, *to),
            other => panic!("{other:?}"),
        })
        .collect();
    let off = Some(Phase::OffConfirmed);
    assert_eq!(
        changes,
        [(None, Phase::Isolating), (Some(Phase::Isolating), Phase::OffConfirmed), (off, Phase::PodsReleased)]
    );
}

/// Answers the first write of a status with nothing, after something has happened to the record; later ones are done.
struct Interfering {
    stored: RefCell<Option<NodeFence>>,
    saves: RefCell<u32>,
    happens: fn(&mut Option<NodeFence>, &NodeFence),
    is_down: bool,
}

impl Records for Interfering {
    async fn fence(&self, _: &str) -> Result<Option<NodeFence>, ApiError> {
        if self.is_down { Err(ApiError::NoAnswer("down".into())) } else { Ok(self.stored.borrow().clone()) }
    }

    async fn open(&self, _: &NodeFence) -> Result<NodeFence, ApiError> {
        none()
    }

    async fn save(&self, fence: &NodeFence) -> Result<NodeFence, ApiError> {
        *self.saves.borrow_mut() += 1;
        if self.is_down || *self.saves.borrow() == 1 {
            (self.happens)(&mut self.stored.borrow_mut(), fence);
            return Err(ApiError::NoAnswer("lost".into()));
        }
        *self.stored.borrow_mut() = Some(fence.clone());
        Ok(fence.clone())
    }

    async fn close(&self, _: &NodeFence) -> Result<(), ApiError> {
        none()
    }
}

/// What is stored after an outcome was written, in how many writes, and whether it was reported.
async fn written(cluster: &Interfering) -> (Option<NodeFence>, u32, bool) {
    let clock = Clock::counted(Timestamp::constant(1000, 0));
    let cache = Cache::new(clock, Limits::default());
    let executor = Executor::new(cluster, &(), &cache, clock, Settings::default());
    let (_open, until) = watch::channel(Moment(Duration::from_secs(20)));
    let outcome = Ok(Done::Power(vec![PowerState::Off; 2]));
    let step = ReversibleOp::ReadPower { times: 2 }.into();
    let events = executor.save_outcome(&off_confirmed(), &step, &outcome, &LeaseDeadline::new(1, until)).await;
    (cluster.stored.borrow().clone(), *cluster.saves.borrow(), !events.is_empty())
}

fn interfering(happens: fn(&mut Option<NodeFence>, &NodeFence)) -> Interfering {
    let stored = RefCell::new(Some(off_confirmed()));
    Interfering { stored, saves: RefCell::default(), happens, is_down: false }
}

fn reads(fence: Option<&NodeFence>) -> Option<u32> {
    Some(fence?.status.off.as_ref()?.reads)
}

#[tokio::test(start_paused = true)]
async fn what_was_stored_although_its_answer_was_lost_is_not_written_again() {
    let (stored, saves, is_reported) = written(&interfering(|stored, next| *stored = Some(next.clone()))).await;
    assert_eq!((reads(stored.as_ref()), saves, is_reported), (Some(4), 1, true));
}

#[tokio::test(start_paused = true)]
async fn an_outcome_is_written_onto_what_a_person_changed_meanwhile() {
    let aborted: fn(&mut Option<NodeFence>, &NodeFence) =
        |stored, _| stored.iter_mut().for_each(|fence| fence.spec.abort = true);
    let (stored, saves, is_reported) = written(&interfering(aborted)).await;
    assert_eq!((reads(stored.as_ref()), saves, is_reported), (Some(4), 2, true));
    assert!(stored.is_some_and(|fence| fence.spec.abort), "and takes nothing of it back");
}

/// Another leader's record, or the one of another node by that name, is not ours to write.
#[tokio::test(start_paused = true)]
async fn an_outcome_is_not_written_onto_another_record_nor_over_another_writer() {
    let others: [fn(&mut Option<NodeFence>, &NodeFence); 3] = [
        |stored, _| stored.iter_mut().for_each(|fence| fence.metadata.uid = "v".into()),
        |stored, _| stored.iter_mut().for_each(|fence| fence.status.failures = 9),
        |stored, _| *stored = None,
    ];
    for other in others {
        let (stored, saves, is_reported) = written(&interfering(other)).await;
        assert!(matches!(reads(stored.as_ref()), None | Some(2)), "{stored:?}");
        assert_eq!((saves, is_reported), (1, false), "{stored:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_down_is_asked_ever_less_often_and_only_in_this_term() {
    let down = Interfering { is_down: true, ..interfering(|_, _| {}) };
    let (_, saves, is_reported) = written(&down).await;
    assert!((12..=15).contains(&saves) && !is_reported, "0.1 s, 0.2 s, 0.4 s and so on up to 2 s: {saves}");
}

type Happens = fn(&mut Option<NodeFence>, &NodeFence);

/// What came of one save of the next phase.
struct Saved {
    events: Vec<NodeEvent>,
    /// Of the phase, in the audit.
    changes: Vec<(Option<Phase>, Phase)>,
    /// The record, as the next decision has it.
    known: Option<NodeFence>,
    /// How often the time until the power off was measured.
    measured: u64,
    saves: u32,
    took: Duration,
}

fn released() -> NodeFence {
    let mut next = off_confirmed();
    next.status.phase = Phase::PodsReleased;
    next
}

/// As the API server has what was written.
fn written_as(mut fence: NodeFence) -> Option<NodeFence> {
    fence.metadata.resource_version = "2".into();
    Some(fence)
}

fn why() -> EventDraft {
    EventDraft::normal(Message::plain("FenceOffConfirmed/still"))
}

async fn saved(cluster: &Interfering) -> Saved {
    let clock = Clock::counted(Timestamp::constant(1000, 0));
    let cache = Cache::new(clock, Limits::default());
    cache.publish(vec![NodeReport { node: "n".into(), policy: Some("p".into()), ..NodeReport::default() }]);
    cache.apply_fence(off_confirmed());
    let lines = Arc::new(Mutex::new(Vec::new()));
    let taken = Arc::clone(&lines);
    let audit = Audit::new(move |entry: AuditEntry| match entry.what {
        Audited::Phase { from, to, .. } => taken.lock().unwrap().push((from, to)),
        other => panic!("{other:?}"),
    });
    let executor = Executor::new(cluster, &(), &cache, clock, Settings { audit, ..Settings::default() });
    let (_open, until) = watch::channel(Moment(Duration::from_secs(20)));
    let begun = clock.moment();
    let events = executor.save(released(), why(), &LeaseDeadline::new(1, until)).await;
    let changes = lines.lock().unwrap().clone();
    let known = cache.with(|snapshot| snapshot.fences.get("n").cloned());
    let (measured, saves) = (cache.spans().off.count(), *cluster.saves.borrow());
    Saved { events, changes, known, measured, saves, took: clock.moment().since(begun) }
}

/// Also where a person aborted it meanwhile: nothing but its status is ours.
#[tokio::test(start_paused = true)]
async fn a_lost_answer_to_a_save_that_was_stored_is_as_good_as_one_that_came() {
    let ways: [Happens; 2] = [
        |stored, next| *stored = written_as(next.clone()),
        |stored, next| {
            *stored = written_as(next.clone());
            stored.iter_mut().for_each(|fence| fence.spec.abort = true);
        },
    ];
    for way in ways {
        let cluster = interfering(way);
        let saved = saved(&cluster).await;
        assert_eq!(saved.events, [node_event(&off_confirmed(), why())]);
        assert_eq!(saved.changes, [(Some(Phase::OffConfirmed), Phase::PodsReleased)]);
        assert_eq!(saved.known, *cluster.stored.borrow());
        assert_eq!((saved.measured, saved.saves, saved.took), (1, 1, Duration::ZERO));
    }
}

/// The next decision is made of what is there, and not without a rest.
#[tokio::test(start_paused = true)]
async fn a_lost_answer_to_a_save_that_was_not_stored_is_no_event_and_no_change_of_phase() {
    let ways: [(&str, Happens); 5] = [
        ("it is as it was", |_, _| {}),
        ("another client wrote before", |stored, _| {
            *stored = written_as(off_confirmed());
            stored.iter_mut().for_each(|fence| fence.status.failures = 9);
        }),
        ("another client wrote the same phase", |stored, next| {
            *stored = written_as(next.clone());
            stored.iter_mut().for_each(|fence| fence.status.failures = 9);
        }),
        ("another record has the name", |stored, next| {
            *stored = written_as(next.clone());
            stored.iter_mut().for_each(|fence| fence.metadata.uid = "v".into());
        }),
        ("it is gone", |stored, _| *stored = None),
    ];
    for (what, way) in ways {
        let cluster = interfering(way);
        let saved = saved(&cluster).await;
        assert_eq!((saved.events.len(), saved.changes.len(), saved.measured), (0, 0, 0), "{what}");
        assert_eq!(saved.known, *cluster.stored.borrow(), "{what}");
        assert_eq!((saved.saves, saved.took), (1, Duration::from_secs(1)), "{what}");
    }
}

/// That it cannot be read is no sign that it is gone, nor that it was stored; in this term it is read again and again.
#[tokio::test(start_paused = true)]
async fn a_lost_answer_to_a_save_whose_record_cannot_be_read_leaves_what_was_known() {
    let down = Interfering { is_down: true, ..interfering(|stored, next| *stored = written_as(next.clone())) };
    let saved = saved(&down).await;
    assert_eq!(saved.known, Some(off_confirmed()));
    assert_eq!((saved.events.len(), saved.changes.len(), saved.measured), (0, 0, 0));
    assert_eq!(saved.saves, 1);
    assert!((21..=23).contains(&saved.took.as_secs()), "to the end of the term, and a rest: {:?}", saved.took);
}
