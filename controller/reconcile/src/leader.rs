//! Leader election by one Lease: who leads, in which term, and until when something of that term may run.
//!
//! Wall clocks are written for people and never compared. Another one's Lease has expired when *we* have seen it unchanged
//! for its duration; our own lasts from the moment a renewal was *sent*, less a margin. So a leader stops before the next
//! can begin, however the clocks differ and however late an answer comes.
//!
//! A leader whose own host needs remediation asks for a successor, and resigns when one has offered itself ([`succession`]). A
//! candidate on such a host takes a Lease that is free only after others had time to.
//!
//! A store that is set back to a backup takes the Lease back too. Then a term ends, a Lease that was released in the
//! backup is not taken at once, and the next term has a number that no earlier term can have had, whichever candidate
//! begins it ([`set_back`]).

mod handover;
mod set_back;
mod succession;
#[cfg(test)]
mod tests;

use std::time::Duration;

use nodewell_remediation::time::Moment;
use tokio::{sync::watch, time::timeout};

use crate::{
    api_error::ApiError,
    cache::Cache,
    clock::Clock,
    cluster::{Election, Leadership},
    lease_deadline::LeaseDeadline,
};

/// The same three numbers as everywhere in Kubernetes, and the margin below the first.
#[derive(Debug, Clone)]
pub struct Terms {
    /// Unique for each start of a program: a restarted one is another candidate.
    pub identity: String,
    /// How long others wait after they last saw a renewal (15 s).
    pub duration: Duration,
    /// Who could not renew for so long gives up (10 s).
    pub renew_within: Duration,
    /// Between two tries (2 s).
    pub retry: Duration,
    /// Subtracted from `duration` for what is to end by itself (2 s).
    pub margin: Duration,
}

impl Terms {
    #[must_use]
    pub fn new(identity: impl Into<String>) -> Self {
        Self {
            identity: identity.into(),
            duration: Duration::from_secs(15),
            renew_within: Duration::from_secs(10),
            retry: Duration::from_secs(2),
            margin: Duration::from_secs(2),
        }
    }
}

/// "Unchanged" means while we looked: a store that was set back shows an old Lease again. A candidate that did not look
/// for longer than this part of a term begins to count from zero.
const LOOKS_IN_A_TERM: u32 = 3;
/// The first term after the store went back leaves out so many numbers: terms that ended before another replica saw
/// them may have had them, and no more than that begin between two looks at a Lease.
const SKIPPED: u64 = 1000;
/// The present term; nothing while another one leads.
pub type Term = watch::Receiver<Option<LeaseDeadline>>;

/// Does `work` in each term of ours, and waits for the next; never returns. `work` ends with its term.
pub async fn in_each(mut term: Term, clock: Clock, mut work: impl AsyncFnMut(LeaseDeadline)) {
    loop {
        let lease_deadline = term.borrow_and_update().clone();
        if let Some(lease_deadline) = lease_deadline.filter(|lease_deadline| lease_deadline.is_ahead(clock.moment())) {
            work(lease_deadline).await;
        } else if term.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

/// Takes part in the election for as long as [`run`](Self::run) is polled.
#[derive(Debug)]
pub struct Candidate<'a, C> {
    cluster: &'a C,
    cache: Cache,
    clock: Clock,
    terms: Terms,
    term: watch::Sender<Option<LeaseDeadline>>,
    seen: Option<Seen>,
    held: Option<Held>,
    /// The newest version of the Lease that we read or wrote.
    newest: u128,
    /// How often the store went back, and how often it had when we last led.
    set_backs: watch::Receiver<u64>,
    passed: u64,
    tried: Option<set_back::TriedTerm>,
    /// The last failure that was logged.
    last_error: Option<String>,
}

/// The Lease as it was last seen, and since when it is so.
#[derive(Debug)]
struct Seen {
    lease: Leadership,
    since: Moment,
    /// The last look.
    looked: Moment,
}

/// Our own term.
#[derive(Debug)]
struct Held {
    /// As it is stored, as far as we know.
    lease: Leadership,
    /// When the last renewal that succeeded was sent.
    sent: Moment,
    until: watch::Sender<Moment>,
    /// When a successor was first asked for, and when one had offered itself.
    asked: Option<Moment>,
    answered: Option<Moment>,
}

impl<'a, C: Election> Candidate<'a, C> {
    #[must_use]
    pub fn new(cluster: &'a C, cache: Cache, clock: Clock, terms: Terms) -> (Self, Term) {
        let (term, receiver) = watch::channel(None);
        let set_backs = cache.hear_of_set_backs();
        let (seen, held, last_error) = (None, None, None);
        (
            Self {
                cluster,
                cache,
                clock,
                terms,
                term,
                seen,
                held,
                newest: 0,
                set_backs,
                passed: 0,
                tried: None,
                last_error,
            },
            receiver,
        )
    }

    /// Never returns. Dropping it ends nothing by itself: [`resign`](Self::resign) does, or else the lease deadline.
    pub async fn run(&mut self) {
        loop {
            match self.held.is_some() {
                true => self.renew().await,
                false => self.stand().await,
            }
            self.hand_over().await;
            tokio::select! {
                biased;
                Ok(()) = self.set_backs.changed() => self.end_if_set_back(),
                () = tokio::time::sleep(self.terms.retry) => {}
            }
        }
    }

    /// Ends the term and releases the Lease, so that the next need not wait. Everything of the term must have ended.
    pub async fn resign(&mut self) {
        let Some(Held { lease, .. }) = self.end("resigned") else { return };
        self.release(lease).await;
    }

    async fn release(&mut self, lease: Leadership) {
        let mut given = Leadership { holder: String::new(), renewed: Some(self.clock.wall()), ..lease };
        handover::write(self.cache.left().map(|(_, left)| left), &mut given);
        succession::forget(&mut given);
        if let Err(error) = self.write(&given).await {
            tracing::warn!(%error, "the Lease could not be released; the next leader waits for its end");
        }
    }

    async fn stand(&mut self) {
        match self.read().await.map(Option::unwrap_or_default) {
            Ok(lease) => {
                if self.is_free(&lease) {
                    self.take(lease).await;
                } else if self.is_behind(&lease) {
                    self.count_on(lease).await;
                } else if succession::is_open(&lease) && self.can_succeed(&lease) {
                    self.offer(lease).await;
                }
            }
            Err(error) => self.trouble("it could not be read", &error),
        }
    }

    /// Released, or unchanged before our own eyes for as long as it was to last; one that is missing may have been
    /// deleted under a leader that does not know it yet. Even one that names us is not taken for ours: whatever we knew of
    /// that term is over.
    fn is_free(&mut self, lease: &Leadership) -> bool {
        let now = self.clock.moment();
        let gap = self.terms.duration / LOOKS_IN_A_TERM;
        let seen = self.seen.take().filter(|seen| seen.lease == *lease && now.since(seen.looked) <= gap);
        let since = seen.map_or(now, |seen| seen.since);
        self.seen = Some(Seen { lease: lease.clone(), since, looked: now });
        let released = lease.holder.is_empty() && !lease.resource_version.is_empty();
        // On a host in need it is the last to take one: every other candidate looks several times before.
        let handicap = if self.is_in_need() { self.terms.duration } else { Duration::ZERO };
        released && !self.is_past(lease) && now.since(since) >= handicap
            || now.since(since) >= lease.duration.max(self.terms.duration).saturating_add(handicap)
    }

    async fn take(&mut self, before: Leadership) {
        // A re-created Lease would count from the start, and a term must never have the number of an older one.
        let Some(known) = self.cache.newest_epoch() else { return };
        let wall = Some(self.clock.wall());
        let skipped = if self.is_set_back() { SKIPPED } else { 0 };
        let transitions = before.transitions.max(known) + skipped + 1;
        let mut mine = Leadership {
            holder: self.terms.identity.clone(),
            duration: self.terms.duration,
            acquired: wall,
            renewed: wall,
            transitions,
            ..before
        };
        succession::forget(&mut mine);
        let (sent, set_backs) = (self.clock.moment(), *self.set_backs.borrow());
        match self.write(&mine).await {
            Ok(lease) => {
                self.passed = set_backs;
                // Unchanged for so long before our own eyes: its content is that much older, at least.
                let elapsed = self.seen.as_ref().map_or(Duration::ZERO, |seen| sent.since(seen.since));
                self.cache.inherit(handover::read(&lease), elapsed, lease.duration);
                self.begin(lease, sent);
            }
            Err(error @ ApiError::NoAnswer(_)) => {
                self.tried(transitions);
                self.trouble("it could not be taken", &error);
            }
            // A lost answer may have made us the holder. Nothing begins on that: the Lease then runs out like another's.
            Err(error @ ApiError::Conflict(_)) => tracing::debug!(%error, "another one took the leader's Lease"),
            Err(error) => self.trouble("it could not be taken", &error),
        }
    }

    /// Why no replica leads here, once and not at each try.
    fn trouble(&mut self, what: &str, error: &ApiError) {
        let last_error = format!("{what}: {error}");
        if self.last_error.as_ref() != Some(&last_error) {
            tracing::warn!(why = last_error, "the leader's Lease cannot be had; it is tried until it can");
        }
        self.last_error = Some(last_error);
    }

    fn begin(&mut self, lease: Leadership, sent: Moment) {
        let epoch = lease.transitions;
        let until = self.until(sent);
        if self.clock.moment() >= until {
            return;
        }
        let (sender, receiver) = watch::channel(until);
        (self.seen, self.last_error) = (None, None);
        self.held = Some(Held { lease, sent, until: sender, asked: None, answered: None });
        self.term.send_replace(Some(LeaseDeadline::new(epoch, receiver)));
        tracing::info!(epoch, identity = self.terms.identity, "leads");
    }

    async fn renew(&mut self) {
        let Some(held) = &self.held else { return };
        if self.is_over(held) {
            self.end("could not be renewed in time");
            return;
        }
        let mut next = Leadership { renewed: Some(self.clock.wall()), ..held.lease.clone() };
        let (decided, left) = self.cache.left().unzip();
        handover::write(left, &mut next);
        succession::ask(&mut next, self.is_in_need());
        let sent = self.clock.moment();
        match self.write(&next).await {
            Ok(lease) => {
                decided.into_iter().for_each(|decided| self.cache.wrote_handover(decided));
                self.renewed(lease, sent);
            }
            Err(ApiError::NoAnswer(_) | ApiError::Conflict(_)) => self.look_again(&next, sent).await,
            Err(error) => self.bear(&error),
        }
    }

    /// Also after it was not run for a while, stopped or starved: what hung on the lease deadline has ended then.
    fn is_over(&self, held: &Held) -> bool {
        let now = self.clock.moment();
        now.since(held.sent) >= self.terms.renew_within || now >= self.until(held.sent)
    }

    fn renewed(&mut self, lease: Leadership, sent: Moment) {
        let until = self.until(sent);
        let Some(held) = &mut self.held else { return };
        held.lease = lease;
        held.sent = sent;
        held.until.send_replace(until);
        self.look_for_successor();
        // The answer may have come after the end that it moves.
        if self.clock.moment() >= until {
            self.end("a renewal was answered too late");
        }
    }

    /// After a lost answer or a conflict: what is stored shows whether the renewal arrived.
    async fn look_again(&mut self, intended: &Leadership, sent: Moment) {
        match self.read().await {
            _ if self.is_set_back() => self.end_if_set_back(),
            Ok(Some(lease)) if !self.is_mine(&lease) => drop(self.end("another one leads")),
            Ok(Some(lease)) if lease.renewed == intended.renewed => self.renewed(lease, sent),
            Ok(Some(lease)) => self.refresh(lease),
            Ok(None) => drop(self.end("the Lease was deleted")),
            Err(error) => self.bear(&error),
        }
    }

    fn is_mine(&self, lease: &Leadership) -> bool {
        let epoch = self.held.as_ref().map(|held| held.lease.transitions);
        lease.holder == self.terms.identity && epoch == Some(lease.transitions)
    }

    /// Still ours, changed by another client (an annotation): the next renewal names its version.
    fn refresh(&mut self, lease: Leadership) {
        if let Some(held) = &mut self.held {
            held.lease = lease;
        }
        self.look_for_successor();
    }

    fn bear(&mut self, error: &ApiError) {
        tracing::warn!(%error, "the leader's Lease was not renewed");
        if self.held.as_ref().is_some_and(|held| self.is_over(held)) {
            self.end("could not be renewed in time");
        }
    }

    fn end(&mut self, why: &str) -> Option<Held> {
        let held = self.held.take()?;
        self.term.send_replace(None);
        self.cache.set_host(|host| host.is_only = false);
        tracing::warn!(epoch = held.lease.transitions, why, "leads no more");
        Some(held)
    }

    fn until(&self, sent: Moment) -> Moment {
        sent.plus(self.terms.duration.saturating_sub(self.terms.margin))
    }

    async fn read(&mut self) -> Result<Option<Leadership>, ApiError> {
        let read = timeout(self.call_timeout(), self.cluster.leadership()).await.unwrap_or_else(|_| Err(late()));
        if let Ok(Some(lease)) = &read {
            self.remember(lease);
        }
        read
    }

    async fn write(&mut self, lease: &Leadership) -> Result<Leadership, ApiError> {
        let written = timeout(self.call_timeout(), self.cluster.lead(lease)).await.unwrap_or_else(|_| Err(late()));
        if let Ok(lease) = &written {
            self.remember(lease);
        }
        written
    }

    /// Each answer follows the one before: an older version than that is of a store that went back.
    fn remember(&mut self, lease: &Leadership) {
        // A term that is newer than all we know of began since: the store went back before it.
        if !lease.holder.is_empty() && lease.transitions > *self.cache.epochs().borrow() {
            self.passed = *self.set_backs.borrow();
        }
        self.cache.saw_epoch(lease.transitions);
        self.cache.compare_lease(self.newest, &lease.resource_version);
        self.newest = lease.resource_version.parse().unwrap_or_default();
    }

    /// So that there is time for a second try before giving up.
    fn call_timeout(&self) -> Duration {
        self.terms.renew_within / 3
    }
}

fn late() -> ApiError {
    ApiError::NoAnswer("the API server took too long".into())
}
