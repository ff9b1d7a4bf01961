//! The loop: what a decision asks for is read, what it wants done is done, and all of it ends with the term.

use std::{collections::BTreeMap, time::Duration};

use nodewell_remediation::{
    action::{Action, EventDraft, IrreversibleOp, NodeEvent, Op},
    api::{
        OUT_OF_SERVICE,
        fence::{IntendedOp, NodeFence, Phase},
    },
    decide::{Decision, GatherRequest, Memory},
    facts::Attachment,
    snapshot::{FenceLevel, FencePlan, PodSource, PowerState, Snapshot},
    time::Now,
};
use tokio::{sync::watch, time::timeout};

use super::stage::{EPOCH, Stage, pod};
use crate::{
    executor::{Decide, EMITTING_LIMIT, Executor, Settings},
    lease_deadline::LeaseDeadline,
};

/// Works for so long, in a term that lasts for `term`.
pub(super) async fn run_for(stage: &Stage, decide: Decide, settings: Settings, span: Duration) {
    let executor = Executor::new(&stage.double, &stage.double, &stage.cache, stage.clock, settings).deciding(decide);
    let (_open, until) = watch::channel(stage.clock.moment().plus(stage.term));
    let (_term, term) = watch::channel(Some(LeaseDeadline::new(EPOCH, until)));
    timeout(span, executor.run(term)).await.expect_err("it never returns");
}

pub(super) fn for_real() -> Settings {
    Settings { dry_run: false, ..Settings::default() }
}

fn asks(_: &Snapshot, memory: Memory, _: Now) -> Decision {
    let request = GatherRequest {
        pods: true,
        attachments: Some(Duration::from_secs(10)),
        methods: true,
        power: Some(Duration::from_secs(4)),
        reach: false,
    };
    Decision { memory, gather: [("n".to_owned(), request)].into(), ..Decision::default() }
}

/// What `snapshot` has of the node's record, to be performed.
fn performs(snapshot: &Snapshot, memory: Memory, _: Now) -> Decision {
    let fences = snapshot.fences.values().filter(|fence| fence.status.intent.is_some());
    let actions = fences.map(|fence| {
        let op = match fence.status.intent.as_ref().map(|intent| intent.op) {
            Some(IntendedOp::Release) => IrreversibleOp::Release { pods: Vec::new() },
            _ => IrreversibleOp::PowerOff,
        };
        Action::Perform { fence: Box::new(fence.clone()), op: Op::from(op) }
    });
    Decision { memory, actions: actions.collect(), ..Decision::default() }
}

fn reports(_: &Snapshot, memory: Memory, _: Now) -> Decision {
    let event = |message: &str| {
        let event = EventDraft { reason: "Blocked".into(), message: message.into(), warning: true };
        NodeEvent { node: "n".into(), uid: "n-uid".into(), event }
    };
    Decision { memory, events: vec![event("a storm"), event("")], ..Decision::default() }
}

fn plan() -> FencePlan {
    FencePlan { levels: vec![FenceLevel { identity: Some(Ok(())), ..FenceLevel::default() }], ..FencePlan::default() }
}

async fn asked() -> Stage {
    let stage = Stage::of(IntendedOp::Release).await;
    let left = Attachment { name: "a".into(), node: "n".into(), volume: "pv".into(), attached: true };
    let mut truth = stage.double.truth.borrow_mut();
    (truth.plan, truth.attachments) = (Some(plan()), vec![left]);
    drop(truth);
    stage
}

/// No question is asked again before its answer is as old as the decision lets it be.
#[tokio::test(start_paused = true)]
async fn what_a_decision_wants_to_know_is_read_as_often_as_it_wants_it() {
    let stage = asked().await;
    run_for(&stage, asks, for_real(), Duration::from_millis(20_500)).await;
    for (call, every) in [("pods", 2), ("attachments", 10), ("plan", 30), ("read", 4)] {
        let times = stage.times(call);
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= Duration::from_secs(every)), "{call}: {times:?}");
        let most = 20 / usize::try_from(every).unwrap() + 1;
        assert!(times.len() > most / 2 && times.len() <= most, "{call}: {times:?}");
    }
}

/// What it read is of this term alone: another leader reads for itself.
#[tokio::test(start_paused = true)]
async fn what_was_read_is_known_to_the_next_decision_and_not_to_the_next_term() {
    fn knows(snapshot: &Snapshot, memory: Memory, now: Now) -> Decision {
        if now.moment.0 > Duration::from_secs(63) {
            let gathered = &snapshot.gathered["n"];
            assert_eq!(gathered.pods.as_ref().map(|(_, pods)| pods.len()), Some(3));
            assert_eq!(gathered.attachments.as_ref().map(|(_, all)| all.len()), Some(1));
            assert_eq!(gathered.methods, Some(Ok(plan())));
            let power: Vec<PowerState> = gathered.power.iter().map(|reading| reading.state).collect();
            assert_eq!(power, [PowerState::Off]);
            assert_eq!((snapshot.epoch, snapshot.dry_run), (EPOCH, false));
        }
        asks(snapshot, memory, now)
    }
    let mut stage = asked().await;
    stage.term = Duration::from_secs(4);
    run_for(&stage, knows, for_real(), Duration::from_secs(5)).await;
    stage
        .cache
        .with(|snapshot| assert!(snapshot.epoch == 0 && snapshot.gathered.is_empty() && snapshot.busy.is_empty()));
}

/// Of a node that the Lease has, what this process evicted in a term before is in the Lease; a restored one may know less.
#[tokio::test(start_paused = true)]
async fn what_was_evicted_in_a_term_before_counts_once() {
    let of = |node: &str| PodSource { policy: String::new(), node: node.into() };
    let pods = |count: usize, at| (0..count).map(|number| (pod(number).at, at)).collect::<BTreeMap<_, _>>();
    for (handed_over, expected) in [(2, 3), (3, 0), (4, 0)] {
        let stage = Stage::of(IntendedOp::PowerOff).await;
        let handover = format!(r#"{{ "pods": [{{ "policy": "", "node": "n", "age": 1, "pods": {handed_over} }}] }}"#);
        stage.cache.inherit(serde_json::from_str(&handover).unwrap(), Duration::ZERO, Duration::ZERO);
        let now = stage.clock.moment();
        stage.cache.with(|snapshot| snapshot.evicted = [(of("n"), pods(3, now)), (of("m"), pods(2, now))].into());
        run_for(&stage, reports, for_real(), Duration::from_secs(2)).await;
        let left = |node| stage.cache.with(|snapshot| snapshot.evicted.get(&of(node)).map_or(0, BTreeMap::len));
        assert_eq!((left("n"), left("m")), (expected, 2), "{handed_over}");
    }
}

/// They would be walked through in each pass, for ever.
#[tokio::test(start_paused = true)]
async fn what_no_window_counts_any_more_is_forgotten() {
    let stage = Stage::of(IntendedOp::PowerOff).await;
    let of = PodSource { policy: String::new(), node: "gone".into() };
    let now = stage.clock.moment();
    stage.cache.with(|snapshot| snapshot.evicted = [(of, [(pod(0).at, now)].into())].into());
    let is_there = || stage.cache.with(|snapshot| !snapshot.evicted.is_empty());
    run_for(&stage, reports, for_real(), Duration::from_secs(598)).await;
    assert!(is_there());
    tokio::time::sleep(Duration::from_secs(2)).await;
    run_for(&stage, reports, for_real(), Duration::from_secs(2)).await;
    assert!(!is_there());
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_unknown_and_not_what_it_was() {
    fn knows_nothing(snapshot: &Snapshot, memory: Memory, now: Now) -> Decision {
        if now.moment.0 > Duration::from_secs(66) {
            let gathered = &snapshot.gathered["n"];
            assert!(gathered.pods.is_none() && gathered.attachments.is_none(), "{gathered:?}");
            assert_eq!(gathered.power.last().map(|reading| reading.state), Some(PowerState::Unknown));
        }
        asks(snapshot, memory, now)
    }
    let silences = |call: &str, before: usize, truth: &mut super::double::Truth| {
        if (call, before) == ("pods", 0) {
            truth.silent.extend(["attachments", "read"]);
        }
        if (call, before) == ("pods", 1) {
            truth.silent.insert("pods");
        }
    };
    let stage = Stage::at(IntendedOp::Release, silences).await;
    stage.double.truth.borrow_mut().plan = Some(plan());
    run_for(&stage, knows_nothing, for_real(), Duration::from_secs(8)).await;
    assert!(!stage.times("attachments").is_empty() && stage.times("read").len() > 1);
}

/// Whatever the decisions meanwhile want: an act under way keeps its node to itself.
#[tokio::test(start_paused = true)]
async fn an_act_is_performed_once_and_its_outcome_saved() {
    let mut stage = Stage::of(IntendedOp::PowerOff).await;
    stage.rewrite(|fence| fence.status.phase = Phase::PoweringOff);
    stage.double.truth.borrow_mut().slow.insert("off", Duration::from_secs(5));
    run_for(&stage, performs, for_real(), Duration::from_secs(10)).await;
    assert_eq!((stage.acts(), stage.times("read").len()), (vec!["off".to_owned()], 2), "{:?}", stage.names());
    let stored = stage.double.truth.borrow().fence.clone().expect("it is there");
    assert_eq!((stored.status.phase, stored.status.intent), (Phase::OffConfirmed, None));
    let known = stage.cache.with(|snapshot| snapshot.fences["n"].status.phase);
    assert_eq!(known, Phase::OffConfirmed, "and known to the next decision");
}

/// The next decision would do it again otherwise.
#[tokio::test(start_paused = true)]
async fn the_node_is_read_again_after_an_act_that_changes_it() {
    let mut stage = Stage::of(IntendedOp::Release).await;
    stage.rewrite(|fence| fence.status.phase = Phase::PodsReleased);
    run_for(&stage, performs, for_real(), Duration::from_secs(3)).await;
    assert_eq!(stage.acts(), ["mark"]);
    let is_tainted = stage.cache.with(|snapshot| snapshot.nodes["n"].taint(OUT_OF_SERVICE).is_some());
    assert!(is_tainted, "{:?}", stage.names());
    assert!(!stage.names().iter().skip_while(|call| *call != "mark").all(|call| call != "node"));
    let mut stage = Stage::of(IntendedOp::PowerOff).await;
    stage.rewrite(|fence| fence.status.phase = Phase::PoweringOff);
    run_for(&stage, performs, for_real(), Duration::from_secs(3)).await;
    assert!(stage.names().iter().skip_while(|call| *call != "off").all(|call| call != "node"), "it does not change it");
}

#[tokio::test(start_paused = true)]
async fn what_is_under_way_ends_with_the_term() {
    let mut stage = Stage::of(IntendedOp::PowerOff).await;
    stage.rewrite(|fence| fence.status.phase = Phase::PoweringOff);
    stage.term = Duration::from_secs(8);
    stage.double.truth.borrow_mut().slow.insert("off", Duration::from_secs(30));
    run_for(&stage, performs, for_real(), Duration::from_secs(60)).await;
    assert_eq!(stage.acts(), ["off"]);
    assert!(stage.times("read").is_empty() && stage.times("save").is_empty(), "{:?}", stage.names());
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_reads_and_does_nothing_else() {
    let mut stage = Stage::of(IntendedOp::PowerOff).await;
    stage.rewrite(|fence| fence.status.phase = Phase::PoweringOff);
    let dry = || Settings::default();
    run_for(&stage, performs, dry(), Duration::from_secs(10)).await;
    run_for(&stage, reports, dry(), Duration::from_secs(10)).await;
    assert!(stage.names().is_empty(), "{:?}", stage.names());
    stage.cache.with(|snapshot| assert!(snapshot.dry_run));
    let stage = asked().await;
    run_for(&stage, asks, dry(), Duration::from_secs(3)).await;
    assert!(stage.names().contains(&"read".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn what_a_decision_reports_is_an_event_if_it_has_a_message() {
    let stage = Stage::of(IntendedOp::Release).await;
    run_for(&stage, reports, for_real(), Duration::from_millis(50)).await;
    let calls: Vec<String> = stage.double.calls().into_iter().map(|(_, call)| call).collect();
    assert_eq!(calls, ["emit Blocked"]);
}

fn reports_much<const EVENTS: usize>(_: &Snapshot, memory: Memory, _: Now) -> Decision {
    let event = EventDraft { reason: "Blocked".into(), message: "a storm".into(), warning: true };
    let event = NodeEvent { node: "n".into(), uid: "n-uid".into(), event };
    Decision { memory, events: vec![event; EVENTS], ..Decision::default() }
}

/// They never hold up an act.
#[tokio::test(start_paused = true)]
async fn events_are_dropped_while_too_many_are_under_way_and_not_because_many_were() {
    let stage = Stage::of(IntendedOp::Release).await;
    run_for(&stage, reports_much::<4_096>, for_real(), Duration::from_millis(250)).await;
    assert_eq!(stage.times("emit").len(), 3 * 4_096, "each has ended before the next decision");
    let stage = Stage::of(IntendedOp::Release).await;
    stage.double.truth.borrow_mut().slow.insert("emit", Duration::from_secs(3600));
    let settings = Settings { events: 10_000, ..for_real() };
    run_for(&stage, reports_much::<9_000>, settings, Duration::from_millis(50)).await;
    assert_eq!(stage.times("emit").len(), EMITTING_LIMIT);
}

pub(super) async fn act(stage: &Stage, action: Action) -> Vec<NodeEvent> {
    let executor = Executor::new(&stage.double, &stage.double, &stage.cache, stage.clock, for_real());
    let (_open, until) = watch::channel(stage.clock.moment().plus(stage.term));
    executor.act(action, LeaseDeadline::new(EPOCH, until)).await
}

fn why() -> EventDraft {
    EventDraft { reason: "FenceClosed".into(), message: "it is well".into(), warning: false }
}

fn boxed(stage: &Stage) -> Box<NodeFence> {
    Box::new(stage.fence.clone())
}

/// The status of what is created is written in a second request, and nothing is decided upon the record before that.
#[tokio::test(start_paused = true)]
async fn a_record_is_opened_whole_and_after_the_node_was_claimed() {
    for are_kept in [false, true] {
        let stage = Stage::of(IntendedOp::PowerOff).await;
        stage.double.truth.borrow_mut().fence = None;
        stage.cache.with(|snapshot| {
            snapshot.peer_leases.are_kept = are_kept;
            snapshot.fences.clear();
        });
        let events = act(&stage, Action::Open(Box::new(stage.to_open()))).await;
        assert_eq!(events.iter().map(|event| event.event.reason.as_str()).collect::<Vec<_>>(), ["RemediationOpened"]);
        let expected: &[&str] = if are_kept { &["claim", "open", "save"] } else { &["open", "save"] };
        assert_eq!(stage.names(), expected);
        let stored = stage.double.truth.borrow().fence.clone().expect("it was opened");
        assert_eq!(stored.status, stage.fence.status);
        assert_eq!(stage.cache.with(|snapshot| snapshot.fences["n"].status.clone()), stage.fence.status);
    }
    let stage = Stage::of(IntendedOp::PowerOff).await;
    stage.cache.with(|snapshot| snapshot.peer_leases.are_kept = true);
    stage.double.truth.borrow_mut().silent.insert("claim");
    assert!(act(&stage, Action::Open(Box::new(stage.to_open()))).await.is_empty());
    assert_eq!(stage.names(), ["claim"], "a node that is not claimed gets no record");
}

#[tokio::test(start_paused = true)]
async fn a_record_is_saved_and_what_was_not_saved_is_read_again() {
    let mut stage = Stage::of(IntendedOp::PowerOff).await;
    stage.fence.status.failures = 3;
    let events = act(&stage, Action::Save { fence: boxed(&stage), why: why() }).await;
    assert_eq!((events.len(), stage.names()), (1, vec!["save".to_owned()]));
    assert_eq!(stage.cache.with(|snapshot| snapshot.fences["n"].status.failures), 3);
    let mut lost = Stage::of(IntendedOp::PowerOff).await;
    lost.fence.status.failures = 3;
    lost.double.truth.borrow_mut().silent.insert("save");
    lost.double.truth.borrow_mut().fence.as_mut().expect("it is there").metadata.resource_version = "10".into();
    assert!(act(&lost, Action::Save { fence: boxed(&lost), why: why() }).await.is_empty());
    assert_eq!(lost.names(), ["save", "fence"]);
    let known = lost.cache.with(|snapshot| snapshot.fences["n"].clone());
    assert_eq!((known.status.failures, known.metadata.resource_version.as_str()), (0, "10"));
}

/// A finalizer keeps it; or another record of that name was opened meanwhile.
#[tokio::test(start_paused = true)]
async fn a_record_is_closed_when_it_is_gone() {
    let stage = Stage::of(IntendedOp::PowerOff).await;
    let events = act(&stage, Action::Close { fence: boxed(&stage), why: why() }).await;
    assert!(events.is_empty(), "that its phase became Closed was the Event of its end");
    assert_eq!(stage.names(), ["close", "fence"]);
    assert!(stage.cache.with(|snapshot| snapshot.fences.is_empty()));
    for (uid, is_closed) in [("f", false), ("g", true)] {
        let stays = Stage::at(IntendedOp::PowerOff, |_, _, _| {}).await;
        let uid_of = |fence: &mut NodeFence| fence.metadata.uid = uid.into();
        let mut left = stays.fence.clone();
        uid_of(&mut left);
        let happens = move |call: &str, _: usize, truth: &mut super::double::Truth| {
            if call == "fence" {
                truth.fence = Some(left.clone());
            }
        };
        let truth = stays.double.truth.take();
        let stays = Stage { double: super::double::Double::new(truth, Box::new(happens)), ..stays };
        act(&stays, Action::Close { fence: boxed(&stays), why: why() }).await;
        assert_eq!(stays.cache.with(|snapshot| snapshot.fences.is_empty()), is_closed, "{uid}");
    }
}
