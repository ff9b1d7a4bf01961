//! Writing a record: every change goes through a [`Draft`], which keeps the log, the proposal's names and the
//! messages for the Node's Events in step with the phase.

use super::{FenceInput, Next, proposal};
use crate::{
    action::{Action, EventDraft, Op},
    api::fence::{Blocker, IntendedOp, Intent, LOG_ENTRIES, LogEntry, NodeFence, NodeFenceStatus, Phase},
    message::{Message, MessageArgs},
    policy::step_name,
};
use jiff::Timestamp;

/// A record as it will be.
#[derive(Debug)]
pub(super) struct Draft {
    fence: NodeFence,
    at: Timestamp,
    /// In the order of their happening; reported as one.
    events: Vec<EventDraft>,
}

impl Draft {
    pub(super) fn new(fence: &NodeFence, epoch: u64, at: Timestamp) -> Self {
        let mut fence = fence.clone();
        fence.status.epoch = epoch;
        Self { fence, at, events: Vec::new() }
    }

    pub(super) fn of(input: &FenceInput<'_>) -> Self {
        Self::new(input.fence, input.epoch, input.now.wall)
    }

    pub(super) fn status(&mut self) -> &mut NodeFenceStatus {
        &mut self.fence.status
    }

    pub(super) fn fence(&self) -> &NodeFence {
        &self.fence
    }

    pub(super) fn at(&self) -> Timestamp {
        self.at
    }

    /// Any change of the status besides the phase.
    pub(super) fn with(mut self, change: impl FnOnce(&mut NodeFenceStatus)) -> Self {
        change(&mut self.fence.status);
        self
    }

    /// Goes over to `phase`. What blocked the phase before is void.
    pub(super) fn enter(mut self, phase: Phase, message: Message) -> Self {
        let status = &mut self.fence.status;
        if status.phase != phase {
            status.since = Some(self.at);
        }
        status.cycle_begun &= tries_again(phase);
        status.ordered_off &= !matches!(phase, Phase::AwaitReady | Phase::Recovering | Phase::Closed);
        status.order_counted &= status.ordered_off;
        status.phase = phase;
        status.blocked_by.clear();
        status.blocked_at = None;
        let reason = format!("Fence{phase:?}");
        debug_assert!(["FencePhase", &reason].contains(&message.reason.as_str()), "{message:?} of {phase:?}");
        let text = format!("{phase:?}: {}", message.text);
        let warning = matches!(phase, Phase::InDoubt | Phase::Failed | Phase::Quarantined);
        self.events.push(EventDraft { reason, message: message.text, warning });
        self.write(text)
    }

    /// Begins the step `index`, with nothing left of the one before; because of `why`.
    pub(super) fn enter_step(mut self, index: usize, phase: Phase, why: Message) -> Self {
        let at = self.at;
        let status = &mut self.fence.status;
        status.policy_step = index;
        status.failures = 0;
        status.last_failure = None;
        status.failed_levels.clear();
        status.since = Some(at);
        if phase == Phase::Draining {
            forget_drain(status);
        }
        let name = self.fence.spec.steps.get(index).map(step_name).unwrap_or_default();
        let args: MessageArgs<'_> = &[("why", &why.text), ("number", &(index + 1)), ("step", &name)];
        self.enter(phase, Message::of("FencePhase/step", args))
    }

    /// One more entry of the log, in the same phase.
    pub(super) fn note(mut self, message: Message) -> Self {
        let text = message.text.clone();
        self.events.push(EventDraft::normal(message));
        self.write(text)
    }

    pub(super) fn warn(self, message: Message) -> Self {
        let mut draft = self.note(message);
        draft.events.iter_mut().last().into_iter().for_each(|event| event.warning = true);
        draft
    }

    /// The end: nothing is done any more.
    pub(super) fn quarantine(self, blocker: Blocker) -> Self {
        let mut draft = self.enter(Phase::Quarantined, Message::of("FenceQuarantined", &[("blocker", &blocker)]));
        let status = draft.status();
        status.intent = None;
        status.giving_up = None;
        status.blocked_by = vec![blocker];
        draft
    }

    /// Writes down that `op` is about to be begun; it is begun once this is stored.
    pub(super) fn intend(mut self, op: IntendedOp) -> Self {
        let (epoch, at) = (self.fence.status.epoch, self.at);
        self.fence.status.intent = Some(Intent { op, epoch, at, pods: 0 });
        self
    }

    /// Writes down that so many pods are about to be released.
    pub(super) fn intend_release(self, pods: usize) -> Self {
        let pods = u32::try_from(pods).unwrap_or(u32::MAX);
        self.intend(IntendedOp::Release).with(|status| {
            status.intent.iter_mut().for_each(|intent| intent.pods = pods);
        })
    }

    /// What was intended has come to its end. A power off counts as a cycle then, once, even if it is unknown whether
    /// it was begun; of one that certainly was not [`Self::forget_intent`] leaves nothing.
    pub(super) fn settle(mut self) -> Self {
        let at = self.at;
        let is_off = self.status().intent.take().is_some_and(|intent| intent.op == IntendedOp::PowerOff);
        if is_off { self.count_cycle(at) } else { self }
    }

    /// A power off was begun and its end is unknown: it counts already, under the time of its intent. That is of this
    /// leader's own clock, or it would not have been begun.
    pub(super) fn count_intended(mut self) -> Self {
        let intended = self.status().intent.as_ref().filter(|intent| intent.op == IntendedOp::PowerOff);
        match intended.map(|intended| intended.at) {
            Some(at) => self.count_cycle(at),
            None => self,
        }
    }

    /// However many tries it takes until Off is confirmed, it is one cycle. A machine that is left off is not cycled.
    fn count_cycle(self, at: Timestamp) -> Self {
        self.with(|status| {
            status.ordered_off = true;
            if !status.cycle_begun {
                status.order_counted = false;
            }
            if !status.cycle_begun && !status.at_limit {
                count_order(status, at);
                status.cycle_begun = true;
            }
        })
    }

    /// It is not left off any more. If this record turned it off, that is a cycle as any other.
    pub(super) fn count_order(self) -> Self {
        let at = self.at;
        self.with(|status| {
            if status.ordered_off {
                count_order(status, at);
            }
        })
    }

    /// A person has it given back.
    pub(super) fn give_back(self, value: &str) -> Self {
        self.count_order().with(|status| {
            status.observed_release = value.to_owned();
            status.returning = true;
        })
    }

    /// What was intended was certainly not begun.
    pub(super) fn forget_intent(self) -> Self {
        self.with(|status| status.intent = None)
    }

    /// One more try that failed.
    pub(super) fn failed(mut self) -> Self {
        self.fence.status.failures = self.fence.status.failures.saturating_add(1);
        self.fence.status.last_failure = Some(self.at);
        self
    }

    /// The confirmation was read again, by this leader.
    pub(super) fn still_off(mut self) -> Self {
        let (epoch, at) = (self.fence.status.epoch, self.at);
        if let Some(off) = &mut self.fence.status.off {
            off.epoch = epoch;
            off.at = at;
            off.reads = off.reads.saturating_add(2);
        }
        self
    }

    fn write(mut self, text: String) -> Self {
        let entry = LogEntry { at: self.at, epoch: self.fence.status.epoch, text };
        let log = &mut self.fence.status.log;
        log.push(entry);
        let surplus = log.len().saturating_sub(LOG_ENTRIES);
        log.drain(..surplus);
        self
    }

    pub(super) fn finish(mut self) -> (NodeFence, EventDraft) {
        proposal::stamp(&mut self.fence.status);
        (self.fence, joined(self.events))
    }

    pub(super) fn save(self) -> Next {
        let (fence, why) = self.finish();
        Next::Act(Action::Save { fence: Box::new(fence), why })
    }
}

/// One off is one cycle, also if the limit was reached after it was ordered.
fn count_order(status: &mut NodeFenceStatus, at: Timestamp) {
    if !status.order_counted {
        status.cycles.push(at);
        status.order_counted = true;
    }
}

/// The next drain asks all guards again, and has all of its time.
pub(super) fn forget_drain(status: &mut NodeFenceStatus) {
    (status.drain, status.drain_begun_at, status.drain_portions) = (None, None, 0);
}

/// Before Off is confirmed, or in doubt of it: another power off is another try of the one before.
fn tries_again(phase: Phase) -> bool {
    match phase {
        Phase::AwaitGuards | Phase::KdumpWait | Phase::PoweringOff | Phase::InDoubt | Phase::Failed => true,
        Phase::Quarantined => true,
        Phase::Pending | Phase::Isolating | Phase::Draining | Phase::Waiting | Phase::OffConfirmed => false,
        Phase::PodsReleased | Phase::PoweringOn | Phase::AwaitReady | Phase::Reaping => false,
        Phase::Recovering | Phase::Closed => false,
    }
}

/// All that was reported, under the reason of what is most grave, or came first: that a step ended is not lost to what
/// follows it. Without a message nothing is reported.
fn joined(events: Vec<EventDraft>) -> EventDraft {
    let gravest = events.iter().find(|event| event.warning).or(events.first());
    let Some(EventDraft { reason, warning, .. }) = gravest.cloned() else { return EventDraft::default() };
    let messages: Vec<String> = events.into_iter().map(|event| event.message).collect();
    EventDraft { reason, message: messages.join("; "), warning }
}

/// Performs `op` now, for the record as it is stored.
pub(super) fn perform(input: &FenceInput<'_>, op: impl Into<Op>) -> Next {
    Next::Act(Action::Perform { fence: Box::new(input.fence.clone()), op: op.into() })
}
