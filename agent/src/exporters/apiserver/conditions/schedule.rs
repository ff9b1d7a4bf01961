//! When which condition is written to the Node: a pure state machine, time is an argument.
//!
//! A change goes out at once; a further change of the same condition waits until the last one is
//! [`ScheduleTiming::min_change_interval`] old. A `False` that follows another one within [`RELAPSE`] waits
//! [`ScheduleTiming::clear_hold`], so that a flapping disk writes the Node rarely; the first does not, for the Event that
//! the problem is over does not wait either. `Unknown` waits one interval, because it often mends itself. With nothing to change there is
//! a heartbeat; other figures in the same message (a temperature, a sector) wait for it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;
use nodewell_model::{
    ConditionStatus, Name,
    problem::stable_hash,
    text,
    view::{ConditionView, ProblemView},
};

/// The longest message written to a Node, in one line: every heartbeat of every node stores it again.
pub const NODE_MESSAGE_LIMIT_BYTES: usize = 256;

/// A condition that was cleared twice within this time flaps.
const RELAPSE: Duration = Duration::from_mins(10);

/// The intervals of the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScheduleTiming {
    pub(super) heartbeat: Duration,
    pub(super) min_change_interval: Duration,
    pub(super) clear_hold: Duration,
}

/// The wanted content of one condition on the Node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConditionContent {
    pub(super) status: ConditionStatus,
    pub(super) reason: Name,
    pub(super) message: String,
    pub(super) transition: Timestamp,
    /// Which problems hold it, worst first: the same message about another disk is a change.
    pub(super) problems_hash: u64,
}

/// Everything one apply carries.
pub(super) type WantedConditions = BTreeMap<Name, ConditionContent>;

/// What the server has, what it should have, and when the difference is due.
#[derive(Debug)]
pub(super) struct Schedule {
    timing: ScheduleTiming,
    conditions: BTreeMap<Name, Entry>,
    /// Conditions that the server has and that are no longer ours to report.
    dropped: BTreeSet<Name>,
    heartbeat_due: Option<Duration>,
}

#[derive(Debug)]
struct Entry {
    wanted: ConditionContent,
    sent: Option<ConditionContent>,
    /// When the server last took a change of this condition; its first publication is none.
    changed_at: Option<Duration>,
    /// When the server last took a `False` after a `True`.
    cleared_at: Option<Duration>,
    /// Since when the wanted status has differed from the sent one in the wanted direction.
    turned_at: Duration,
}

/// Which problems there are, until when they are muted, and since when they are false positives.
fn problems_hash(view: &ConditionView) -> u64 {
    let one = |problem: &ProblemView| {
        let until = problem.muted_until.map(|until| format!(" {until}")).unwrap_or_default();
        let acked = problem.false_positive.as_ref().map(|ack| format!(" false {}", ack.at)).unwrap_or_default();
        format!("{}{until}{acked}", problem.id)
    };
    stable_hash(&view.problems.iter().map(one).collect::<Vec<_>>())
}

impl ConditionContent {
    pub(super) fn of(view: &ConditionView) -> Self {
        Self {
            status: view.status,
            reason: view.reason.clone(),
            message: text::line(&view.message, NODE_MESSAGE_LIMIT_BYTES),
            transition: view.transition,
            problems_hash: problems_hash(view),
        }
    }

    /// The transition time belongs to the status: a status that came back within the hold never left.
    fn differs_from(&self, sent: &Self) -> bool {
        let alike = (self.status, &self.reason) == (sent.status, &sent.reason);
        !alike || (self.message != sent.message && !self.differs_in_figures_only(sent))
    }

    fn differs_in_figures_only(&self, sent: &Self) -> bool {
        self.problems_hash == sent.problems_hash && text::differ_in_figures_only(&self.message, &sent.message)
    }
}

impl Schedule {
    pub(super) fn new(timing: ScheduleTiming) -> Self {
        Self { timing, conditions: BTreeMap::new(), dropped: BTreeSet::new(), heartbeat_due: None }
    }

    /// Takes the newest view of all conditions.
    pub(super) fn want<'a>(&mut self, views: impl IntoIterator<Item = &'a ConditionView>, now: Duration) {
        let wanted: WantedConditions =
            views.into_iter().map(|view| (view.condition.clone(), ConditionContent::of(view))).collect();
        let dropped = &mut self.dropped;
        self.conditions.retain(|name, entry| {
            let stays = wanted.contains_key(name);
            if !stays && entry.sent.is_some() {
                dropped.insert(name.clone());
            }
            stays
        });
        for (name, content) in wanted {
            self.dropped.remove(&name);
            self.conditions.entry(name).and_modify(|entry| entry.want(&content, now)).or_insert_with(|| Entry {
                wanted: content,
                sent: None,
                changed_at: None,
                cleared_at: None,
                turned_at: now,
            });
        }
    }

    /// When the next apply is due; `None` while there has never been anything to send.
    pub(super) fn due(&self) -> Option<Duration> {
        [self.change_due(), self.heartbeat_due].into_iter().flatten().min()
    }

    /// Whether something the server should know is due: a heartbeat is not.
    pub(super) fn is_urgent(&self, now: Duration) -> bool {
        self.change_due().is_some_and(|due| due <= now)
    }

    /// What an apply at this moment carries: all conditions, those that are not due as the server has them.
    pub(super) fn wanted_conditions(&self, now: Duration) -> WantedConditions {
        self.conditions.iter().map(|(name, entry)| (name.clone(), entry.content(&self.timing, now))).collect()
    }

    /// The server took `wanted`. `jitter` in 0..1 lengthens the next heartbeat by up to a tenth.
    pub(super) fn applied(&mut self, wanted: &WantedConditions, now: Duration, jitter: f64) {
        self.dropped.clear();
        for (name, content) in wanted {
            match self.conditions.get_mut(name) {
                Some(entry) => entry.applied(content, now),
                // It went away while the request was under way.
                None => _ = self.dropped.insert(name.clone()),
            }
        }
        self.heartbeat_due = Some(now + self.timing.heartbeat.mul_f64(1.0 + 0.1 * jitter));
    }

    /// The server may not have what it took: everything is sent once more, at `due` at the latest.
    pub(super) fn confirm_by(&mut self, due: Duration) {
        self.heartbeat_due = self.heartbeat_due.map(|known| known.min(due));
    }

    /// The server has nothing of ours: what was sent to it does not count any more.
    pub(super) fn start_over(&mut self) {
        self.dropped.clear();
        for entry in self.conditions.values_mut() {
            (entry.sent, entry.changed_at, entry.cleared_at) = (None, None, None);
        }
    }

    fn change_due(&self) -> Option<Duration> {
        let dropped = (!self.dropped.is_empty()).then_some(Duration::ZERO);
        self.conditions.values().filter_map(|entry| entry.due(&self.timing)).chain(dropped).min()
    }
}

impl Entry {
    fn want(&mut self, content: &ConditionContent, now: Duration) {
        if content.status != self.wanted.status {
            self.turned_at = now;
        }
        self.wanted = content.clone();
    }

    fn due(&self, timing: &ScheduleTiming) -> Option<Duration> {
        let Some(sent) = &self.sent else { return Some(Duration::ZERO) };
        if !self.wanted.differs_from(sent) {
            return None;
        }
        let spaced = self.changed_at.map_or(Duration::ZERO, |at| at + timing.min_change_interval);
        let held = match (sent.status, self.wanted.status) {
            (ConditionStatus::True, ConditionStatus::False) if self.flaps() => self.turned_at + timing.clear_hold,
            (ConditionStatus::True | ConditionStatus::False, ConditionStatus::Unknown) => {
                self.turned_at + timing.min_change_interval
            }
            _ => Duration::ZERO,
        };
        Some(spaced.max(held))
    }

    /// Whether it became healthy again soon after it had.
    fn flaps(&self) -> bool {
        self.cleared_at.is_some_and(|at| self.turned_at < at + RELAPSE)
    }

    fn content(&self, timing: &ScheduleTiming, now: Duration) -> ConditionContent {
        let Some(sent) = &self.sent else { return self.wanted.clone() };
        // What is not due at all may still have newer figures.
        if self.due(timing).is_some_and(|due| due > now) {
            return sent.clone();
        }
        let same = sent.status == self.wanted.status;
        let transition = if same { sent.transition } else { self.wanted.transition };
        ConditionContent { transition, ..self.wanted.clone() }
    }

    fn applied(&mut self, content: &ConditionContent, now: Duration) {
        // Where nothing was known before, the first knowledge is no change: a problem of the first seconds goes at
        // once.
        let knew = |sent: &ConditionContent| sent.status != ConditionStatus::Unknown;
        if self.sent.as_ref().is_some_and(|sent| knew(sent) && content.differs_from(sent)) {
            self.changed_at = Some(now);
        }
        let was_true = self.sent.as_ref().is_some_and(|sent| sent.status == ConditionStatus::True);
        if was_true && content.status == ConditionStatus::False {
            self.cleared_at = Some(now);
        }
        self.sent = Some(content.clone());
    }
}

#[cfg(test)]
mod tests;
