//! What a daemon has to report and what of it the agent knows: decides what is sent next, and when. No clock, no
//! socket.

use std::{collections::VecDeque, time::Duration};

use jiff::Timestamp;
use nodewell_model::{Condition, Event, Hardware, Status, SubjectKey, api::AcceptedView};
use nodewell_time::{Backoff, jittered};
use tokio::time::Instant;

use super::{
    ReporterSettings,
    compose::Composer,
    ids::Ids,
    states::{Changed, Forgotten, States},
};
use crate::{ClientError, random};

/// Between two tries: a restarted agent is found within the longest.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(5));
/// Between two signs of life while something is True or Unknown, and only they show that the agent is another one.
const BEAT_WITH_PROBLEM: Duration = Duration::from_secs(5);

/// The agent holds no more of this daemon, or of all.
const CONFLICT: u16 = 409;

/// What to do now.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Next {
    Send(Box<Status>),
    /// Nothing until then, or until there is news.
    Wait(Instant),
    /// The last report was sent, and answered.
    Done,
}

/// A report that the agent will never take.
#[derive(Debug)]
pub struct Discarded {
    /// What was in it.
    pub report: Status,
    /// Why: an answer with a 4xx code, most likely.
    pub error: ClientError,
}

/// The state of one reporter.
#[derive(Debug)]
pub(super) struct Outbox {
    settings: ReporterSettings,
    pub(super) states: States,
    /// The devices that the daemon counts; `None`: it has never counted any.
    hardware: Option<Vec<Hardware>>,
    hardware_changed: bool,
    pub(super) events: VecDeque<Event>,
    dropped: u64,
    /// Since when something waits.
    waiting_since: Option<Instant>,
    /// Sent, and not answered for good.
    under_way: Option<Status>,
    /// When it was made.
    composed_at: Instant,
    /// Whether an earlier try of it may have arrived.
    is_retried: bool,
    full: Full,
    /// Whether all that it reports is all there is.
    whole: bool,
    instance: Option<String>,
    answered_at: Option<Instant>,
    /// The owner wants a sign of life now.
    beats_now: bool,
    retry_at: Option<Instant>,
    pauses: Backoff,
    phase: Phase,
    ids: Ids,
}

/// Whether everything has to be reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Full {
    No,
    Now,
    /// The agent refused it: again with the next heartbeat.
    WithHeartbeat,
    /// One report does not hold all that is wrong, and would end what it does not name: it goes in several that are not
    /// full, until there is less of it.
    InPieces,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Reporting,
    Finishing,
    Done,
}

impl Outbox {
    pub(super) fn new(settings: ReporterSettings, now: Instant) -> Self {
        // Reports have whole seconds, and at least one.
        let settings = ReporterSettings { ttl: settings.ttl.max(Duration::from_secs(1)), ..settings };
        Self {
            whole: settings.first_report_is_complete,
            settings,
            states: States::default(),
            hardware: None,
            hardware_changed: false,
            events: VecDeque::new(),
            dropped: 0,
            // The first full report leaves the daemon a moment to report how things are.
            waiting_since: Some(now),
            under_way: None,
            composed_at: now,
            is_retried: false,
            full: Full::Now,
            instance: None,
            answered_at: None,
            beats_now: false,
            retry_at: None,
            pauses: PAUSES,
            phase: Phase::Reporting,
            ids: Ids::default(),
        }
    }

    /// Returns, as those below do, whether there is something to send.
    pub(super) fn set_all(&mut self, key: SubjectKey, conditions: Vec<Condition>, now: Instant) -> bool {
        self.states.set(key, conditions) && self.waits(now)
    }

    pub(super) fn forget(&mut self, key: &SubjectKey, wall: Timestamp, now: Instant) -> bool {
        match self.states.forget(key, wall) {
            Forgotten::Nothing => return false,
            Forgotten::Subject => {}
            // Only a full report shows that the daemon does not look after a type any more.
            Forgotten::Type => self.full = Full::Now,
        }
        self.waits(now)
    }

    pub(super) fn hardware(&mut self, hardware: Vec<Hardware>, now: Instant) -> bool {
        if self.hardware.as_ref() == Some(&hardware) {
            return false;
        }
        self.hardware = Some(hardware);
        self.hardware_changed = true;
        self.waits(now)
    }

    fn waits(&mut self, now: Instant) -> bool {
        self.waiting_since.get_or_insert(now);
        true
    }

    pub(super) fn event(&mut self, event: Event, now: Instant) {
        self.events.push_back(event);
        if self.events.len() > self.settings.events_limit {
            // Of the mildest, the oldest: `min_by_key` gives the first of several.
            let mildest = self.events.iter().enumerate().min_by_key(|(_, event)| event.severity).map(|(n, _)| n);
            mildest.and_then(|n| self.events.remove(n));
            self.dropped += 1;
        }
        self.waiting_since.get_or_insert(now);
    }

    pub(super) fn all_reported(&mut self, now: Instant) -> bool {
        !std::mem::replace(&mut self.whole, true) && self.full == Full::Now && self.waits(now)
    }

    /// Something is due now, whatever was planned.
    pub(super) fn send_heartbeat_now(&mut self) {
        (self.beats_now, self.retry_at) = (true, None);
    }

    /// The owner's moment for a sign of life; returns whether one is due. Not where the agent has heard of us within half of
    /// the time between two: what is between them is then at most half as much again.
    pub(super) fn beat_now(&mut self, now: Instant) -> bool {
        let is_fresh = |answered_at| now.saturating_duration_since(answered_at) < self.settings.ttl / 6;
        self.beats_now |= !self.answered_at.is_some_and(is_fresh);
        self.beats_now
    }

    pub(super) fn finish(&mut self) {
        if self.phase == Phase::Reporting {
            self.phase = Phase::Finishing;
        }
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(super) fn is_flushed(&self) -> bool {
        self.under_way.is_none() && !(self.whole && self.full == Full::Now) && !self.has_unsent()
    }

    pub(super) fn next(&mut self, now: Instant) -> Next {
        if self.phase == Phase::Done {
            return Next::Done;
        }
        let due = match self.retry_at {
            Some(retry_at) => retry_at,
            None if self.under_way.is_some() || self.phase == Phase::Finishing => now,
            None => self.due(now),
        };
        if due > now {
            return Next::Wait(due);
        }
        if self.under_way.is_none() {
            self.under_way = Some(self.compose());
            (self.composed_at, self.is_retried) = (now, false);
        }
        self.under_way.clone().map_or(Next::Wait(due), |report| Next::Send(Box::new(report)))
    }

    fn due(&self, now: Instant) -> Instant {
        match (self.waiting_since, self.answered_at) {
            (Some(since), _) => since + self.settings.batch_for,
            (None, Some(_)) if self.beats_now => now,
            (None, Some(answered_at)) => answered_at + self.beat(),
            (None, None) => now,
        }
    }

    /// Until the next sign of life. An agent that was restarted knows of no problem before it: while there is one, that
    /// must not take long. Nor may what it did not take.
    fn beat(&self) -> Duration {
        let beat = if self.settings.owner_beats { self.settings.ttl * 2 / 3 } else { self.settings.ttl / 3 };
        let is_known = self.settings.notices_restarts && self.full == Full::No;
        if self.states.is_worth_repeating() && !is_known { beat.min(BEAT_WITH_PROBLEM) } else { beat }
    }

    fn compose(&mut self) -> Status {
        let finishing = self.phase == Phase::Finishing;
        let everything = !finishing && self.must_report_everything();
        let mut composer = Composer::new(&self.settings, self.ids.next());
        if std::mem::take(&mut self.hardware_changed) || everything {
            composer.add_hardware(self.hardware.clone());
        }
        if everything {
            self.states.report_everything();
        }
        // The last report withdraws them anyway.
        let changed = std::mem::take(&mut self.states.changed);
        self.states.changed = if finishing { Changed::new() } else { composer.add_all(changed) };
        let full = everything && self.whole && !self.states.owes_wrong();
        if everything && self.whole {
            self.full = if full { Full::No } else { Full::InPieces };
        }
        composer.add_events(&mut self.events);
        self.waiting_since = self.waiting_since.filter(|_| self.has_unsent());
        if finishing && !self.has_unsent() { composer.last_report(self.settings.linger) } else { composer.report(full) }
    }

    /// Also for a doubt about a whole type: what is named beside it is not in doubt, so all of it has to be.
    fn must_report_everything(&mut self) -> bool {
        let sums_changed = self.states.sum_up();
        if sums_changed {
            self.full = Full::Now;
        }
        let is_wanted = match self.full {
            Full::No => false,
            Full::InPieces => self.states.fits(),
            Full::Now | Full::WithHeartbeat => true,
        };
        sums_changed || (is_wanted && self.whole)
    }

    fn has_unsent(&self) -> bool {
        !self.states.changed.is_empty() || !self.events.is_empty() || self.hardware_changed
    }

    /// Takes the answer in; gives back what is lost.
    pub(super) fn answered(&mut self, answer: Result<AcceptedView, ClientError>, now: Instant) -> Option<Discarded> {
        match answer {
            Ok(accepted) => {
                self.accepted(accepted, now);
                None
            }
            Err(error) if !is_final(&error) => {
                self.is_retried = true;
                self.retry_at = Some(now + self.pause(&error));
                None
            }
            Err(error) => self.refused(error, now),
        }
    }

    /// Whether what it reported before may have been cleared as that of a daemon that is gone.
    fn was_silent(&self, now: Instant) -> bool {
        self.answered_at.is_some_and(|answered_at| now - answered_at > self.settings.ttl)
    }

    /// Whether what the report under way says may have been: the agent may have taken an earlier try of it, and knows its id.
    fn was_late(&self, now: Instant) -> bool {
        self.is_retried && now - self.composed_at > self.settings.ttl
    }

    fn accepted(&mut self, accepted: AcceptedView, now: Instant) {
        let Some(report) = self.under_way.take() else { return };
        let (was_silent, was_late) = (self.was_silent(now), self.was_late(now));
        let another = self.instance.as_ref().is_some_and(|known| *known != accepted.instance);
        self.instance = Some(accepted.instance);
        if another {
            self.states.loosen();
        }
        self.acknowledged(now);
        if report.full {
            self.states.all_acknowledged();
        }
        if report.last {
            self.phase = Phase::Done;
        } else if was_late || ((another || was_silent) && !report.full) {
            self.full = Full::Now;
            self.waiting_since = Some(now);
        }
    }

    fn refused(&mut self, error: ClientError, now: Instant) -> Option<Discarded> {
        let report = self.under_way.take()?;
        let is_in_doubt = self.was_silent(now) || self.was_late(now);
        self.acknowledged(now);
        self.states.refused(&report.conditions);
        if matches!(error, ClientError::Status { code: CONFLICT, .. }) {
            self.states.tighten();
        }
        if report.last {
            self.phase = Phase::Done;
        } else if is_in_doubt || report.full || !report.conditions.is_empty() || report.hardware.is_some() {
            self.full = Full::WithHeartbeat;
        }
        Some(Discarded { report, error })
    }

    fn acknowledged(&mut self, now: Instant) {
        (self.answered_at, self.beats_now, self.retry_at, self.pauses) = (Some(now), false, None, PAUSES);
    }

    /// Longer each time, and never the same for two daemons that lost the same agent.
    fn pause(&mut self, error: &ClientError) -> Duration {
        let chance = f64::from(random() as u32) / f64::from(u32::MAX);
        error.retry_after().unwrap_or_default() + jittered(self.pauses.pause(), chance)
    }
}

/// Whether the same report will never be taken. Everything else may pass, even a socket that does not let us in.
fn is_final(error: &ClientError) -> bool {
    match error {
        ClientError::Status { code, .. } => (400..500).contains(code) && !matches!(code, 408 | 429),
        ClientError::Request(_) => true,
        _ => false,
    }
}
