//! The ledger itself: what is reported to it, and what can be read of it.

mod ack;
mod ends;
mod mute;
mod rejection;
mod reload;
mod report;
mod watch;

pub(crate) use ack::acked;
pub(crate) use mute::muted;
pub use rejection::{Rejection, ReportRejection};

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use nodewell_faults::message;
use nodewell_model::{
    BootId, ConditionSpec, EventRecord, Finding, FindingKind, Name, ProblemKey,
    api::ProblemVersion,
    view::{ConditionView, DaemonView, HardwareView},
};

use crate::{
    Limits, Now,
    acks::FalsePositives,
    claim::{Claim, Claimant, Lasting},
    condition::{Cause, ConditionState},
    counters::{Counters, Gauge, Namer, Totals},
    daemon::Daemon,
    dirty::Dirty,
    events::{EventQueue, Run, event_of},
    hardware,
    mutes::Mutes,
    reporter::{Ids, OnStale},
    saved::newer::Newer,
    timers::{Due, Timers},
    view,
};

/// What came of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// It happened: an event.
    Event,
    /// A problem began.
    Started,
    /// An active problem was claimed again, or by one more source.
    Repeated,
    /// Claims were withdrawn; so many problems ended by it. None is not an error.
    Cleared(usize),
    /// Its quiet time had passed before it arrived: nothing is raised by it, nothing refreshed.
    Over,
    /// It ends at boot and is from another boot.
    OtherBoot,
}

/// Who sends reports, and what they may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    /// The user or unit: its daemons share what one may take.
    pub principal: Arc<str>,
    pub on_stale: OnStale,
    /// It may report for any part of the node: root, and our own check processes.
    pub may_use_reserve: bool,
}

/// What a client wants cleared: claims of all sources. `None` stands for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClearRequest {
    pub condition: Name,
    pub reason: Option<Name>,
    pub subject: Option<String>,
    /// Only this one.
    pub id: Option<String>,
    /// Why it is over, for people.
    pub evidence: Option<String>,
    /// Only what has not been claimed again since it looked like this.
    pub if_unchanged_since: Option<ProblemVersion>,
    /// The user or unit that sends it, if it may do so by a grant only.
    pub peer: Option<Arc<str>>,
}

impl ClearRequest {
    /// Whether it is about the condition as such, not about some of its problems.
    #[must_use]
    pub fn is_of_all(&self) -> bool {
        let is_of_one = self.reason.is_some() || self.subject.is_some() || self.id.is_some();
        !is_of_one && self.if_unchanged_since.is_none()
    }
}

/// What is true of the node. Owned by one task; for its times see the crate's documentation.
#[derive(Debug, Clone)]
pub struct Ledger {
    pub(crate) limits: Limits,
    pub(crate) run: Run,
    pub(crate) states: BTreeMap<Name, ConditionState>,
    pub(crate) daemons: BTreeMap<Arc<str>, Daemon>,
    pub(crate) timers: Timers,
    pub(crate) events: EventQueue,
    pub(crate) totals: Totals,
    pub(crate) version: u64,
    /// Grows with what [`Ledger::shared_conditions`], [`Ledger::daemons`] and [`Ledger::hardware`] show.
    pub(crate) account: u64,
    /// Daemons that reported a clean stop, with the ids of their last reports: one of these may still come again.
    pub(crate) departed: VecDeque<(Arc<str>, Ids)>,
    pub(crate) mutes: Mutes,
    pub(crate) false_positives: FalsePositives,
    pub(crate) dirty: Dirty,
    pub(crate) newer: Newer,
    /// Of the counters, what was last taken for the store.
    pub(crate) saved_run: Option<(u64, u64)>,
}

impl Ledger {
    /// An empty ledger for the conditions of `catalogue`; of two of one type the first counts.
    #[must_use]
    pub fn new(catalogue: Vec<ConditionSpec>, now: Now) -> Self {
        let mut states = BTreeMap::new();
        for spec in catalogue {
            states.entry(spec.condition.clone()).or_insert_with(|| ConditionState::new(spec));
        }
        Self {
            limits: Limits::default(),
            run: Run::new(now),
            states,
            daemons: BTreeMap::new(),
            timers: Timers::default(),
            events: EventQueue::default(),
            totals: Totals::default(),
            version: 0,
            account: 0,
            departed: VecDeque::new(),
            mutes: Mutes::default(),
            false_positives: FalsePositives::default(),
            dirty: Dirty::default(),
            newer: Newer::default(),
            saved_run: None,
        }
    }

    /// Whether there is a condition of this type, though none may have reported on it, or was when a daemon reported on it
    /// that is still waited for.
    #[must_use]
    pub fn knows_condition(&self, condition: &Name) -> bool {
        self.states.contains_key(condition) || self.daemons.values().any(|daemon| daemon.watches(condition))
    }

    /// This boot: findings of another one that end at boot are not raised.
    #[must_use]
    pub fn with_boot_id(mut self, boot_id: Option<BootId>) -> Self {
        self.run.boot_id = boot_id;
        self
    }

    /// Other bounds than the default ones.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Applies a finding whose required proof was given. O(log n), but for a clear without a subject, which looks
    /// at each subject of its reason. Findings of one source come in the order of their records.
    pub fn apply(&mut self, finding: Finding, now: Now) -> Result<Applied, Rejection> {
        self.is_declared(finding.condition.as_ref())?;
        let finding = match (finding.kind, finding.key()) {
            (FindingKind::Clear, _) => return Ok(self.take_back(&finding, now)),
            (FindingKind::Raise, None) => finding,
            (FindingKind::Raise, Some(_)) if Lasting::of(&finding, now) == Lasting::Over => return Ok(Applied::Over),
            (FindingKind::Raise, Some(_)) if finding.ends_at_boot && self.run.is_other_boot(finding.boot_id) => {
                return Ok(Applied::OtherBoot);
            }
            (FindingKind::Raise, Some(key)) => self.admit_finding(finding, key)?,
        };
        Ok(self.raise(finding, None, Namer::Ours, now))
    }

    /// Refuses what is about a condition that is not in the catalogue, though a daemon may still be waited for that
    /// reported on it.
    fn is_declared(&self, condition: Option<&Name>) -> Result<(), Rejection> {
        match condition.filter(|name| !self.states.contains_key(*name)) {
            Some(unknown) => Err(Rejection::UnknownCondition(unknown.clone())),
            None => Ok(()),
        }
    }

    /// Finds room for what a rule claims: past the limits it goes into the problem without a subject.
    fn admit_finding(&mut self, mut finding: Finding, key: ProblemKey) -> Result<Finding, Rejection> {
        let full = self.problems() >= self.limits.problems;
        let Some(state) = self.states.get_mut(&key.condition) else {
            return Err(Rejection::UnknownCondition(key.condition));
        };
        let key = state.bounded_key(key, full, &self.limits);
        state.admit(&key, &Claimant::of(&finding), &self.limits)?;
        fold(&mut finding, &key);
        Ok(finding)
    }

    /// What happened or is claimed, by a rule or in a report, once there is room for it: one more event, or a claim.
    /// Each record is one more occurrence, and has no `transition`; a report is one if it has another transition than
    /// before.
    fn raise(&mut self, finding: Finding, transition: Option<Timestamp>, namer: Namer<'_>, now: Now) -> Applied {
        let event = |finding: &Finding| EventRecord { from_peer: namer.is_peer(), ..event_of(finding) };
        let Some(key) = finding.key() else {
            self.count_reason(&finding.reason, finding.count, namer);
            self.emit(event(&finding));
            return Applied::Event;
        };
        let (reason, claimant) = (finding.reason.clone(), Claimant::of(&finding));
        let starts = self.states.get(&key.condition).is_some_and(|state| state.starts(&key, &claimant));
        let start = starts.then(|| event(&finding));
        let counted = self.claim(key, claimant, Claim::new(finding, transition, now), now);
        if counted > 0 {
            self.count_reason(&reason, counted, namer);
        }
        start.map_or(Applied::Repeated, |event| {
            self.emit(event);
            Applied::Started
        })
    }

    /// Writes an admitted claim down; returns how many occurrences more that is.
    fn claim(&mut self, key: ProblemKey, claimant: Claimant, claim: Claim, now: Now) -> u64 {
        let since = claim.since;
        let state = self.states.get_mut(&key.condition);
        let Some(change) = state.and_then(|state| state.claim(&key, &claimant, claim, now)) else { return 0 };
        self.review_ack(&key, now);
        if let Some(state) = self.states.get_mut(&key.condition) {
            state.refresh(&self.daemons, Cause::Record(since));
        }
        if change.is_news {
            self.dirty.claim(&key, &claimant);
        }
        let (before, after) = change.deadlines;
        self.timers.reset(Due::Claim(key, claimant), before, after);
        self.changed();
        change.counted
    }

    fn problems(&self) -> usize {
        self.states.values().map(|state| state.problems.len()).sum()
    }

    pub(crate) fn count_reason(&mut self, reason: &Name, records: u64, namer: Namer<'_>) {
        let counted = self.totals.count(reason, records, namer, &self.limits);
        self.dirty.total(&counted);
    }

    pub(crate) fn emit(&mut self, event: EventRecord) {
        self.events.push(event, self.limits.events);
        self.dirty.marks += 1;
        self.version += 1;
    }

    /// The boot time at which [`Ledger::advance`] has something to do.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Duration> {
        self.timers.next().into_iter().chain(self.mutes.next_look()).min()
    }

    /// The events since the last call, oldest first.
    pub fn take_events(&mut self) -> Vec<EventRecord> {
        self.events.take()
    }

    /// Every condition that is watched or has a problem, by name. Only what changed since the last call is made again,
    /// so this is cheap to call after each batch of findings.
    pub fn shared_conditions(&mut self) -> Vec<Arc<ConditionView>> {
        let daemons = &self.daemons;
        let shown = self.states.values_mut().filter_map(|state| {
            if state.view.is_none() {
                state.view = view::condition(state, daemons).map(Arc::new);
            }
            state.view.clone()
        });
        shown.collect()
    }

    /// [`Ledger::shared_conditions`] as values of one's own.
    pub fn conditions(&mut self) -> Vec<ConditionView> {
        self.shared_conditions().iter().map(|view| ConditionView::clone(view)).collect()
    }

    /// Every monitor and daemon, by name.
    #[must_use]
    pub fn daemons(&self) -> Vec<DaemonView> {
        self.daemons.iter().map(|(name, daemon)| daemon.view(name)).collect()
    }

    /// The devices that daemons count, by class.
    #[must_use]
    pub fn hardware(&self) -> Vec<HardwareView> {
        hardware::of(&self.daemons)
    }

    /// Grows when anything changes that is shown: conditions, daemons, events, counters.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Grows when a condition, a daemon or a count of devices changes. Events and counters do not move it.
    #[must_use]
    pub fn account_version(&self) -> u64 {
        self.account
    }

    /// Something shown is different.
    pub(crate) fn changed(&mut self) {
        self.version += 1;
        self.account += 1;
    }

    /// What metrics show.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let gauges = self.states.iter().flat_map(|(condition, state)| {
            let gauge = |(reason, tally): (&Name, &crate::condition::Tally)| Gauge {
                condition: condition.clone(),
                reason: reason.clone(),
                active: tally.problems > 0,
            };
            state.tallies.iter().map(gauge)
        });
        Counters {
            raised: self.totals.by_reason.clone(),
            false_positives: self.false_positives.problems.clone(),
            false_conditions: self.false_positives.conditions.clone(),
            gauges: gauges.collect(),
            events_dropped: self.events.dropped,
        }
    }
}

/// States in a finding that a limit put it into the problem without a subject.
fn fold(finding: &mut Finding, key: &ProblemKey) {
    if finding.subject == key.subject {
        return;
    }
    if let Some(subject) = std::mem::take(&mut finding.subject) {
        finding.message = message("TooManySubjects/figure", &[("subject", &subject), ("message", &finding.message)]);
    }
}
