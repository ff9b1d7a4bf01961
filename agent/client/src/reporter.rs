//! A problem daemon's side of the socket: stores what the daemon reports, and sees to it that the agent knows it.
//!
//! The owner reports what is so ([`Reporter::set`], [`Reporter::event`]) and never waits. Reports are sent in batches
//! over a [`Line`], repeated with the same id until they are answered, and in full to an agent that does not know them: at
//! the start, after a restart of the agent, after a long silence. Heartbeats go by themselves, unless the owner gives them.

mod compose;
mod doubts;
mod ids;
mod link;
mod outbox;
mod states;

#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use nodewell_model::{Condition, Event, Hardware, Name, SubjectKey};
use tokio::{
    sync::Notify,
    task::JoinHandle,
    time::{Instant, sleep_until, timeout},
};

pub use link::Line;
pub use outbox::Discarded;

use link::Link;
use outbox::{Next, Outbox};

/// How a daemon reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReporterSettings {
    /// The daemon's name, 1 to 64 bytes of `[A-Za-z0-9._-]`; the agent adds the user or unit.
    pub source: String,
    /// How long a report holds without another one, 1 s to a day, in whole seconds. A heartbeat goes every third of it.
    pub ttl: Duration,
    /// What is reported within this moment travels together.
    pub batch_for: Duration,
    /// Events that may wait; the oldest of the mildest go first, and are counted.
    pub events_limit: usize,
    /// Whether what is reported in the first moment is all there is. If not, an agent that has reports of an earlier
    /// run of this daemon retains them until [`Reporter::all_reported`].
    pub first_report_is_complete: bool,
    /// For how long its conditions stay after [`Reporter::finish`], in whole seconds up to an hour: it may start again.
    pub linger: Duration,
    /// Whether the owner notices that there may be another agent and calls [`Reporter::send_heartbeat_now`] then. If
    /// not, what is wrong is a reason for heartbeats more often.
    pub notices_restarts: bool,
    /// Whether the owner calls [`Reporter::beat`] every third of the ttl. The reporter gives heartbeats by itself then only
    /// where that fails, after two thirds.
    pub owner_beats: bool,
}

impl ReporterSettings {
    /// `source` with the agent's default ttl of three minutes.
    #[must_use]
    pub fn new(source: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            ttl: Duration::from_secs(nodewell_model::report::DEFAULT_TTL_SECS),
            batch_for: Duration::from_millis(20),
            events_limit: 1024,
            first_report_is_complete: true,
            linger: Duration::ZERO,
            notices_restarts: false,
            owner_beats: false,
        }
    }
}

/// Reports for one daemon, by a task of its own. Dropped without [`Reporter::finish`], it just goes silent.
#[derive(Debug)]
pub struct Reporter {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    outbox: Mutex<Outbox>,
    /// Something new is in the outbox.
    news: Notify,
    /// Something left it.
    taken: Notify,
}

impl Reporter {
    /// Starts reporting, by a line of its own ([`crate::Client`]) or by one that it shares with others of this process; must
    /// be called within a tokio runtime. `discarded` is called with every report that the agent will never accept (400,
    /// 403, 409, 413): what was in it is lost, except that conditions are sent again in the next full report.
    #[must_use]
    pub fn start(
        line: impl Into<Line>,
        settings: ReporterSettings,
        discarded: impl FnMut(Discarded) + Send + 'static,
    ) -> Self {
        let outbox = Mutex::new(Outbox::new(settings, Instant::now()));
        let shared = Arc::new(Shared { outbox, news: Notify::new(), taken: Notify::new() });
        let task = tokio::spawn(run(Arc::clone(&shared), Link::new(line.into()), discarded));
        Self { shared, task }
    }

    /// Reports how a condition is. The same again is no news.
    pub fn set(&self, condition: Condition) {
        self.set_all(condition.condition.clone(), condition.subject.clone(), vec![condition]);
    }

    /// Reports all that there is of `condition` on `subject`: each of its faults, with reasons of their own, or one
    /// entry that it is well or unknown. It replaces what was reported of them before; the same again is no news. Type
    /// and subject of the entries are made to agree, of two with one reason the later one counts, and beside a fault
    /// nothing but faults is reported. No entry at all is [`Reporter::forget`].
    pub fn set_all(&self, condition: Name, subject: Option<String>, conditions: Vec<Condition>) {
        if conditions.is_empty() {
            return self.forget(condition, subject);
        }
        let key = SubjectKey::new(condition, subject);
        self.change(|outbox| outbox.set_all(key, conditions, Instant::now()));
    }

    /// `subject` is not looked after any more: what was reported of it is over. With the last subject of a type, or
    /// without a subject, the type is not looked after any more either, and not published for this daemon's sake.
    pub fn forget(&self, condition: Name, subject: Option<String>) {
        let key = SubjectKey::new(condition, subject);
        self.change(|outbox| outbox.forget(&key, Timestamp::now(), Instant::now()));
    }

    /// Counts the devices that this daemon looks after: all its classes, each time. The same again is no news.
    pub fn hardware(&self, hardware: Vec<Hardware>) {
        self.change(|outbox| outbox.hardware(hardware, Instant::now()));
    }

    /// Reports that something happened.
    pub fn event(&self, event: Event) {
        self.shared.lock().event(event, Instant::now());
        self.shared.news.notify_one();
    }

    /// Every condition has been reported at least once: what an earlier run reported and this one does not is over.
    pub fn all_reported(&self) {
        self.change(|outbox| outbox.all_reported(Instant::now()));
    }

    /// Sends a heartbeat at once: for an owner that learned otherwise that the agent is back, and may be another one.
    pub fn send_heartbeat_now(&self) {
        self.shared.lock().send_heartbeat_now();
        self.shared.news.notify_one();
    }

    /// Sends a heartbeat, unless the agent has heard of this daemon a short while ago: for an owner of several reporters,
    /// which wakes the machine once for all of them.
    pub fn beat(&self) {
        self.change(|outbox| outbox.beat_now(Instant::now()));
    }

    /// Events that found no room while the agent could not be reached.
    #[must_use]
    pub fn dropped_events(&self) -> u64 {
        self.shared.lock().dropped()
    }

    /// Returns once everything reported so far is answered, taken or discarded.
    pub async fn flushed(&self) {
        loop {
            let taken = self.shared.taken.notified();
            if self.shared.lock().is_flushed() {
                return;
            }
            taken.await;
        }
    }

    /// Wakes the task where that is news: a check reports with each round, and mostly the same.
    fn change(&self, change: impl FnOnce(&mut Outbox) -> bool) {
        let is_news = change(&mut self.shared.lock());
        if is_news {
            self.shared.news.notify_one();
        }
    }

    /// A clean stop: sends what waits and a last report, so that the daemon's conditions are withdrawn. Returns whether
    /// the agent accepted it in time.
    pub async fn finish(mut self, within: Duration) -> bool {
        self.shared.lock().finish();
        self.shared.news.notify_one();
        timeout(within, &mut self.task).await.is_ok()
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Outbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn run(shared: Arc<Shared>, mut link: Link, mut discarded: impl FnMut(Discarded) + Send + 'static) {
    loop {
        let next = shared.lock().next(Instant::now());
        match next {
            Next::Send(report) => {
                let answer = link.send(&report).await;
                let lost = shared.lock().answered(answer, Instant::now());
                lost.into_iter().for_each(&mut discarded);
                shared.taken.notify_waiters();
            }
            Next::Wait(until) => {
                tokio::select! {
                    () = shared.news.notified() => {}
                    () = sleep_until(until) => {}
                }
            }
            Next::Done => return,
        }
    }
}
