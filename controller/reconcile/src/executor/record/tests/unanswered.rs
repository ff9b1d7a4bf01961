//! A creation, a save and a deletion that got no answer: the record shows whether they were done, once it can be read.

use std::cell::Cell;

use nodewell_remediation::{action::Action, api::fence::OwnChanges};

use super::*;
use crate::cache::Acts;

const TERM: Duration = Duration::from_secs(20);
const REST: Duration = Duration::from_secs(1);

/// One record. The first write gets no answer, whatever it did; after that so many reads get none.
struct Store {
    stored: RefCell<Option<NodeFence>>,
    happens: Happens,
    unread: Cell<u32>,
    calls: RefCell<Vec<&'static str>>,
}

impl Store {
    fn new(stored: Option<NodeFence>, unread: u32, happens: Happens) -> Self {
        Self { stored: RefCell::new(stored), happens, unread: Cell::new(unread), calls: RefCell::default() }
    }

    fn write(&self, call: &'static str, fence: &NodeFence) -> Result<(), ApiError> {
        let is_first = self.calls.borrow().is_empty();
        self.calls.borrow_mut().push(call);
        if is_first {
            (self.happens)(&mut self.stored.borrow_mut(), fence);
            return Err(ApiError::NoAnswer("lost".into()));
        }
        *self.stored.borrow_mut() = written_as(fence.clone());
        Ok(())
    }
}

impl Records for Store {
    async fn fence(&self, _: &str) -> Result<Option<NodeFence>, ApiError> {
        self.calls.borrow_mut().push("fence");
        if let Some(left) = self.unread.get().checked_sub(1) {
            self.unread.set(left);
            return Err(ApiError::NoAnswer("lost".into()));
        }
        Ok(self.stored.borrow().clone())
    }

    async fn open(&self, fence: &NodeFence) -> Result<NodeFence, ApiError> {
        self.write("open", fence).map(|()| fence.clone())
    }

    async fn save(&self, fence: &NodeFence) -> Result<NodeFence, ApiError> {
        self.write("save", fence)?;
        Ok(self.stored.borrow().clone().unwrap())
    }

    async fn close(&self, fence: &NodeFence) -> Result<(), ApiError> {
        self.write("close", fence)
    }
}

/// What came of one write.
struct Written {
    events: Vec<NodeEvent>,
    /// Of the audit, with the UID of the record.
    lines: Vec<(String, Audited)>,
    acts: Acts,
    /// The record, as the next decision has it.
    known: Option<NodeFence>,
    took: Duration,
}

async fn write(store: &Store, action: Action) -> Written {
    let clock = Clock::counted(Timestamp::constant(1000, 0));
    let cache = Cache::new(clock, Limits::default());
    store.stored.borrow().iter().for_each(|fence| cache.apply_fence(fence.clone()));
    let lines = Arc::new(Mutex::new(Vec::new()));
    let taken = Arc::clone(&lines);
    let audit = Audit::new(move |entry: AuditEntry| taken.lock().unwrap().push((entry.record, entry.what)));
    let executor = Executor::new(store, &(), &cache, clock, Settings { audit, ..Settings::default() });
    let (_open, until) = watch::channel(Moment(TERM));
    let lease_deadline = LeaseDeadline::new(7, until);
    let begun = clock.moment();
    let events = match action {
        Action::Open(fence) => executor.open(*fence, &lease_deadline).await,
        Action::Save { fence, why } => executor.save(*fence, why, &lease_deadline).await,
        Action::Close { fence, why } => {
            executor.close(*fence, why, &lease_deadline).await;
            Vec::new()
        }
        Action::Perform { .. } => panic!("no write of a record"),
    };
    let took = clock.moment().since(begun);
    let known = cache.with(|snapshot| snapshot.fences.get("n").cloned());
    let lines = lines.lock().unwrap().clone();
    Written { events, lines, acts: cache.activity_counters().acts, known, took }
}

/// As it is decided to be opened: the API server gives it its UID.
fn decided() -> NodeFence {
    let spec = NodeFenceSpec { policy: "p".into(), cause: "it is silent".into(), ..off_confirmed().spec };
    let status = NodeFenceStatus {
        phase: Phase::Isolating,
        epoch: 7,
        own_changes: OwnChanges { cordon: true, ..OwnChanges::default() },
        earlier_cycles: vec![Timestamp::constant(500, 0)],
        ..NodeFenceStatus::default()
    };
    NodeFence { metadata: Meta { name: "n".into(), ..Meta::default() }, spec, status }
}

/// As the API server creates it: without its status.
fn created(fence: &NodeFence) -> NodeFence {
    let metadata = Meta { uid: "u".into(), resource_version: "1".into(), ..fence.metadata.clone() };
    NodeFence { metadata, status: NodeFenceStatus::default(), ..fence.clone() }
}

async fn opened_in(store: &Store) -> Written {
    write(store, Action::Open(Box::new(decided()))).await
}

/// What is ours on its Node, and the power cycles before it, are in the status alone.
#[tokio::test(start_paused = true)]
async fn a_record_whose_creation_was_not_answered_is_made_whole_and_reported() {
    for unread in [0, 3] {
        let store = Store::new(None, unread, |stored, fence| *stored = Some(created(fence)));
        let opening = opened_in(&store).await;
        let stored = store.stored.borrow().clone().unwrap();
        assert_eq!((stored.metadata.uid.as_str(), &stored.status), ("u", &decided().status), "{unread}");
        assert_eq!(opening.known, Some(stored), "{unread}");
        let why = opened(&decided());
        let line = Audited::phase(None, Phase::Isolating, &why);
        assert_eq!(opening.lines, [("u".to_owned(), line)], "{unread}");
        assert_eq!(opening.events, [node_event(&decided(), why)], "{unread}");
        assert_eq!(opening.acts, [(("open", "done"), 1)].into(), "{unread}");
        assert!(opening.took < REST, "{unread}: {:?}", opening.took);
        let mut calls = vec!["fence"; 1 + usize::try_from(unread).unwrap()];
        calls.insert(0, "open");
        calls.push("save");
        assert_eq!(*store.calls.borrow(), calls);
    }
}

/// Another leader, or a person, was first; or a leader of a later term has gone on with it.
#[tokio::test(start_paused = true)]
async fn a_record_that_is_not_known_to_be_of_this_creation_is_not_written() {
    let ways: [(&str, Happens); 6] = [
        ("it was not created", |_, _| {}),
        ("it is of another Node", |stored, fence| {
            let mut other = created(fence);
            other.spec.node_uid = "m".into();
            *stored = Some(other);
        }),
        ("another policy asked for it", |stored, fence| {
            let mut other = created(fence);
            other.spec.policy = "q".into();
            *stored = Some(other);
        }),
        ("a person opened it", |stored, fence| {
            let mut other = created(fence);
            other.spec.policy.clear();
            other.spec.cause.clear();
            *stored = Some(other);
        }),
        ("it was opened for another reason", |stored, fence| {
            let mut other = created(fence);
            other.spec.cause = "it is not Ready".into();
            *stored = Some(other);
        }),
        ("its status was written", |stored, fence| {
            *stored = Some(NodeFence { status: fence.status.clone(), ..created(fence) });
        }),
    ];
    for (what, way) in ways {
        let store = Store::new(None, 0, way);
        let opening = opened_in(&store).await;
        assert_eq!(*store.calls.borrow(), ["open", "fence"], "{what}");
        assert_eq!((opening.events.len(), opening.lines.len()), (0, 0), "{what}");
        assert_eq!(opening.acts, [(("open", "refused"), 1)].into(), "{what}");
        assert_eq!(opening.known, *store.stored.borrow(), "{what}");
        assert_eq!(opening.took, REST, "{what}");
    }
}

/// It is read again and again, with its node busy, and no other creation is tried.
#[tokio::test(start_paused = true)]
async fn a_creation_of_which_nothing_can_be_read_is_not_tried_again_in_this_term() {
    let store = Store::new(None, u32::MAX, |stored, fence| *stored = Some(created(fence)));
    let opening = opened_in(&store).await;
    assert!(opening.took > TERM && opening.events.is_empty() && opening.known.is_none(), "{:?}", opening.took);
    let calls = store.calls.borrow();
    let reads = calls.iter().filter(|call| **call == "fence").count();
    assert!((12..=15).contains(&reads) && calls.len() == 1 + reads, "{calls:?}");
}

#[tokio::test(start_paused = true)]
async fn a_save_that_was_stored_is_reported_once_its_record_can_be_read_again() {
    let store = Store::new(Some(off_confirmed()), 3, |stored, next| *stored = written_as(next.clone()));
    let save = write(&store, Action::Save { fence: Box::new(released()), why: why() }).await;
    let line = Audited::phase(Some(Phase::OffConfirmed), Phase::PodsReleased, &why());
    assert_eq!(save.lines, [("u".to_owned(), line)]);
    assert_eq!(save.events, [node_event(&off_confirmed(), why())]);
    assert_eq!(save.acts, [(("save", "done"), 1)].into());
    assert_eq!(save.known, *store.stored.borrow());
    assert!(save.took < REST, "{:?}", save.took);
    assert_eq!(*store.calls.borrow(), ["save", "fence", "fence", "fence", "fence"]);
}

async fn closed_in(store: &Store) -> Written {
    write(store, Action::Close { fence: Box::new(off_confirmed()), why: why() }).await
}

/// Or another one has its name by then.
#[tokio::test(start_paused = true)]
async fn a_record_whose_deletion_was_not_answered_has_ended_once_it_is_gone() {
    let ways: [Happens; 2] = [
        |stored, _| *stored = None,
        |stored, fence| {
            *stored = written_as(fence.clone());
            stored.iter_mut().for_each(|fence| fence.metadata.uid = "v".into());
        },
    ];
    for (way, unread) in ways.into_iter().flat_map(|way| [(way, 0), (way, 3)]) {
        let store = Store::new(Some(off_confirmed()), unread, way);
        let closing = closed_in(&store).await;
        assert_eq!(closing.lines, [("u".to_owned(), Audited::ended(&why()))]);
        assert_eq!(closing.acts, [(("close", "done"), 1)].into());
        assert_eq!(closing.known, *store.stored.borrow());
        assert!(closing.took < REST, "{:?}", closing.took);
    }
}

#[tokio::test(start_paused = true)]
async fn a_record_that_is_there_or_cannot_be_read_after_its_deletion_was_not_answered_has_not_ended() {
    let is_there: Happens = |_, _| {};
    let is_gone: Happens = |stored, _| *stored = None;
    for (way, unread, took) in [(is_there, 0, Duration::ZERO), (is_gone, u32::MAX, TERM)] {
        let store = Store::new(Some(off_confirmed()), unread, way);
        let closing = closed_in(&store).await;
        assert_eq!((closing.lines.len(), closing.known), (0, Some(off_confirmed())));
        assert_eq!(closing.acts, [(("close", "refused"), 1)].into());
        assert!(closing.took >= took + REST, "{:?}", closing.took);
    }
}
