//! The loop: the cache changes → a decision → its actions, each node's by itself → what came of them, saved.
//!
//! Everything runs inside one future. Dropping it, or the end of the term, drops whatever is under way with it; what then
//! is in doubt stands in the records, and the next leader begins there.

mod drained;
mod gather;
mod methods;
mod other_levels;
mod perform;
mod power;
mod reads;
mod recheck;
mod record;
mod rehearsal;
mod release;
#[cfg(test)]
mod tests;

use std::{future::Future, pin::Pin, time::Duration};

use futures_util::{StreamExt, stream::FuturesUnordered};
use nodewell_remediation::{
    action::{Action, EventDraft, NodeEvent},
    api::fence::NodeFence,
    decide::{Decision, Memory, forget_evicted},
    node_report::NodeReport,
    snapshot::Snapshot,
    time::{Moment, Now},
};
use tokio::sync::{Semaphore, watch};

use self::{
    gather::{Gathering, Question},
    rehearsal::Rehearsal,
};
use crate::{
    audit::{Audit, Audited},
    cache::{Cache, Decided},
    clock::Clock,
    cluster::Cluster,
    leader::Term,
    lease_deadline::LeaseDeadline,
    power::Power,
};

/// How the loop goes about it.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Decides, reads and logs what it would do; writes nothing, not even an Event.
    pub dry_run: bool,
    /// Between two decisions at least (100 ms): a thousand changes at once are one decision.
    pub pause: Duration,
    /// Between two decisions at most (1 s).
    pub tick: Duration,
    /// Writes to the API server under way at once (48): 150 cordons take well under 2 s and no other client is starved.
    pub writes: usize,
    /// Events under way at once (4): they report acts, and do not come in their way.
    pub events: usize,
    /// Questions to the API server and to BMCs under way at once (32).
    pub questions: usize,
    /// After a failure the node is left alone for so long (1 s).
    pub rest: Duration,
    /// How long a machine may take to be read as off, after its agents reported it (60 s).
    pub off_within: Duration,
    /// The least time before the lease deadline when something irreversible begins, unless the act is shorter (5 s).
    pub least_remaining: Duration,
    /// Takes a line for each act that cannot be taken back and each change of a record.
    pub audit: Audit,
    /// [`nodewell_remediation::decide::decide`], unless a test wants to hear what is decided.
    pub decide: Decide,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            dry_run: true,
            pause: Duration::from_millis(100),
            tick: Duration::from_secs(1),
            writes: 48,
            events: 4,
            questions: 32,
            rest: Duration::from_secs(1),
            off_within: Duration::from_secs(60),
            least_remaining: Duration::from_secs(5),
            audit: Audit::default(),
            decide: nodewell_remediation::decide::decide,
        }
    }
}

/// What decides; always [`nodewell_remediation::decide::decide`], except in tests of the loop itself.
pub type Decide = fn(&Snapshot, Memory, Now) -> Decision;

/// Performs decisions while it leads.
#[derive(Debug)]
pub struct Executor<'a, C, P> {
    cluster: &'a C,
    power: &'a P,
    cache: &'a Cache,
    clock: Clock,
    settings: Settings,
    decide: Decide,
    writes: Semaphore,
    events: Semaphore,
}

/// What ended.
#[derive(Debug)]
enum Ended {
    Act { node: String, events: Vec<NodeEvent> },
    Asked { node: String, question: Question },
    Emitted,
}

type Work<'a> = Pin<Box<dyn Future<Output = Ended> + 'a>>;

/// One term's work.
struct Running<'a, C, P> {
    executor: &'a Executor<'a, C, P>,
    lease_deadline: LeaseDeadline,
    memory: Memory,
    works: FuturesUnordered<Work<'a>>,
    gathering: Gathering,
    /// Events that wait or are under way.
    emitting: usize,
    decided: Option<Moment>,
    /// In a dry run: what was logged already.
    rehearsal: Rehearsal,
}

/// Events that wait or are under way; past so many they are dropped: they never hold up an act.
const EMITTING_LIMIT: usize = 8192;

impl<'a, C, P> Executor<'a, C, P> {
    #[must_use]
    pub fn new(cluster: &'a C, power: &'a P, cache: &'a Cache, clock: Clock, settings: Settings) -> Self {
        let (writes, events) = (Semaphore::new(settings.writes), Semaphore::new(settings.events));
        let decide = settings.decide;
        Self { cluster, power, cache, clock, settings, decide, writes, events }
    }

    fn audit(&self, fence: &NodeFence, what: Audited) {
        let term = self.cache.with(|snapshot| snapshot.epoch);
        self.settings.audit.write(self.clock.wall(), term, fence, what);
    }

    /// Another decision, for tests of the loop.
    #[must_use]
    pub fn deciding(self, decide: Decide) -> Self {
        Self { decide, ..self }
    }
}

impl<'a, C: Cluster, P: Power> Executor<'a, C, P> {
    /// Never returns: works in each term of ours, and waits for the next. A dry run needs no term, for it takes none.
    pub async fn run(&'a self, mut term: Term) {
        if self.settings.dry_run {
            let (forever, until) = watch::channel(Moment(Duration::MAX));
            self.serve(LeaseDeadline::new(1, until)).await;
            drop(forever);
        }
        loop {
            let lease_deadline = term.borrow_and_update().clone();
            if let Some(lease_deadline) =
                lease_deadline.filter(|lease_deadline| lease_deadline.is_ahead(self.clock.moment()))
            {
                self.serve(lease_deadline).await;
            } else if term.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Until the term is over.
    async fn serve(&'a self, lease_deadline: LeaseDeadline) {
        self.begin(lease_deadline.epoch);
        Running::new(self, lease_deadline).run().await;
        self.begin(0);
    }

    /// An Event, when its turn has come.
    async fn emit(&self, node: &str, uid: &str, event: &EventDraft) {
        // Never closed.
        let _turn = self.events.acquire().await;
        self.cluster.emit(node, uid, event).await;
    }

    /// Nothing of another term is under way any more, and what was read of power then is old.
    fn begin(&self, epoch: u64) {
        self.cache.forget_causes();
        self.cache.with(|snapshot| {
            snapshot.epoch = epoch;
            snapshot.dry_run = self.settings.dry_run;
            snapshot.busy.clear();
            snapshot.gathered.clear();
        });
    }
}

impl<'a, C: Cluster, P: Power> Running<'a, C, P> {
    fn new(executor: &'a Executor<'a, C, P>, lease_deadline: LeaseDeadline) -> Self {
        let works = FuturesUnordered::new();
        let (cache, now) = (executor.cache, executor.clock.now());
        let inherited = cache.inherited();
        // What this process evicted in a term before is among it, if the Lease has that node.
        cache.with(|snapshot| snapshot.evicted.retain(|of, evicted| inherited.moved_pods(of) < evicted.len()));
        let memory = Memory::inherited(&inherited, now).with_cycles(&cache.departed());
        let (gathering, rehearsal) = (Gathering::default(), Rehearsal::default());
        Self { executor, lease_deadline, memory, works, gathering, emitting: 0, decided: None, rehearsal }
    }

    async fn run(mut self) {
        let (cache, clock) = (self.executor.cache, self.executor.clock);
        let mut next = clock.moment();
        loop {
            tokio::select! {
                biased;
                () = over(self.lease_deadline.clone(), clock) => return,
                Some(ended) = self.works.next() => {
                    self.settle(ended);
                    next = next.min(self.soon());
                }
                () = cache.changed() => next = next.min(self.soon()),
                () = clock.until(next) => next = self.decide(),
            }
        }
    }

    /// The next moment at which a decision may follow the last one.
    fn soon(&self) -> Moment {
        let now = self.executor.clock.moment();
        self.decided.map_or(now, |last| last.plus(self.executor.settings.pause).max(now))
    }

    /// Decides, sets going what follows, and returns when to decide again at the latest.
    fn decide(&mut self) -> Moment {
        let Executor { cache, clock, settings, decide, .. } = self.executor;
        let now = clock.now();
        let memory = std::mem::take(&mut self.memory);
        let decision = cache.with(|snapshot| {
            forget_evicted(snapshot, now.moment);
            decide(snapshot, memory, now)
        });
        cache.decided(clock.moment().since(now.moment));
        self.decided = Some(now.moment);
        self.memory = decision.memory;
        let left = |snapshot: &mut Snapshot| Decided {
            at: now.moment,
            handover: self.memory.handover(snapshot, now),
            pods: self.memory.counted_pods(snapshot, now),
        };
        cache.leave(cache.with(left));
        if settings.dry_run {
            self.log_dry_run(&decision.node_reports);
        }
        cache.publish(decision.node_reports);
        cache.retain_gathered(&decision.gather);
        self.ask(&decision.gather, now.moment);
        if !settings.dry_run {
            self.set_going(decision.actions);
            decision.events.into_iter().for_each(|event| self.emit(event));
        }
        let latest = now.moment.plus(settings.tick);
        decision.requeue_at.map_or(latest, |wake| wake.min(latest)).max(now.moment.plus(settings.pause))
    }

    fn set_going(&mut self, actions: Vec<Action>) {
        for action in actions {
            let node = action.node().to_owned();
            let is_free = self.executor.cache.with(|snapshot| snapshot.busy.insert(node.clone()));
            if is_free {
                let act = self.executor.act(action, self.lease_deadline.clone());
                self.works.push(Box::pin(async move { Ended::Act { node, events: act.await } }));
            }
        }
    }

    fn log_dry_run(&mut self, node_reports: &[NodeReport]) {
        for (node, would) in self.rehearsal.news(node_reports) {
            tracing::info!(node, would, "dry run");
        }
    }

    fn settle(&mut self, ended: Ended) {
        match ended {
            Ended::Act { node, events } => {
                self.executor.cache.with(|snapshot| snapshot.busy.remove(&node));
                events.into_iter().for_each(|event| self.emit(event));
            }
            Ended::Asked { node, question } => self.gathering.answered(node, question, self.executor.clock.moment()),
            Ended::Emitted => self.emitting -= 1,
        }
    }

    fn emit(&mut self, event: NodeEvent) {
        let NodeEvent { node, uid, event } = event;
        if event.message.is_empty() {
            return;
        }
        log(&node, &event, self.lease_deadline.epoch);
        if self.emitting >= EMITTING_LIMIT {
            tracing::warn!(node, "an Event was dropped: too many are under way");
            return;
        }
        self.emitting += 1;
        let executor = self.executor;
        self.works.push(Box::pin(async move {
            executor.emit(&node, &uid, &event).await;
            Ended::Emitted
        }));
    }
}

fn log(node: &str, event: &EventDraft, epoch: u64) {
    tracing::info!(node, epoch, reason = event.reason, message = event.message, "remediation");
}

/// Returns when the term has ended or was not renewed in time.
async fn over(mut lease_deadline: LeaseDeadline, clock: Clock) {
    while lease_deadline.is_ahead(clock.moment()) {
        let until = lease_deadline.until();
        tokio::select! {
            biased;
            moved = lease_deadline.moved() => if !moved { return },
            () = clock.until(until) => {}
        }
    }
}
