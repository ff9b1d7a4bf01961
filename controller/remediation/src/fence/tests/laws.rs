//! What must hold of every step, whichever leader crashed before it.

use super::fixture::Fixture;
use crate::{
    action::{Action, Done, Failed, IrreversibleOp, Op, Outcome, ReversibleOp},
    api::{
        CORDONED_BY, OUT_OF_SERVICE, REMEDIATION_TAINT,
        fence::{IntendedOp, LOG_ENTRIES, NodeFence, Phase},
    },
    facts::{Node, Taint},
    fence::{Next, PredicateState, edges::is_edge},
    message::Message,
};

/// What the laws need of the past.
#[derive(Debug, Default)]
pub(super) struct Laws {
    /// A power act's end is unknown.
    pub(super) doubt: bool,
    /// Power was read as off since it was last intended to be turned on.
    pub(super) read: bool,
    /// Another actor plays with the power button.
    pub(super) meddled: bool,
    /// Power offs that this record intended, and those of them that were, or may have been, begun: tries of one, and one after
    /// which the machine is left off, are no more.
    pub(super) intended: usize,
    pub(super) begun: usize,
    pub(super) trying: bool,
    /// Machines that are to be left off at the limit of their power cycles.
    pub(super) left_off: u32,
    /// Records that closed for one of another policy.
    pub(super) gave_way: u32,
    pub(super) steps: u32,
    pub(super) ends: u32,
}

impl Laws {
    pub(super) fn written(&mut self, before: &NodeFence, after: &NodeFence) {
        let (from, to) = (before.status.phase, after.status.phase);
        assert!(is_edge(from, to), "{from:?} → {to:?}: {:?}", after.status.log.last());
        assert!(after.status.log.len() <= LOG_ENTRIES);
        assert!(after.status.step.is_some() && after.status.status.is_some());
        if from != Phase::OffConfirmed && to == Phase::OffConfirmed {
            self.read = true;
        }
        if to == Phase::Recovering && from != Phase::Recovering {
            // It is Ready with a new boot, or its BMC is not believed any more: nothing is left to be asked.
            self.doubt = false;
        }
        if (from, to) == (Phase::InDoubt, Phase::AwaitGuards) {
            // What is not known by a level that is silent is done again by another one; a power on only while no pod was released.
            let intended = before.status.intent.as_ref().map(|intent| intent.op);
            assert!(intended != Some(IntendedOp::Reap));
            assert!(intended != Some(IntendedOp::PowerOn) || !before.status.release_begun);
            self.doubt = false;
        }
        if (from, to) == (Phase::AwaitGuards, Phase::PoweringOn) {
            // It was read Off, again and again, after an order of this record.
            assert!(
                after.status.off.is_some()
                    && (!after.status.cycles.is_empty() && !after.status.at_limit || after.spec.abort)
            );
            self.read = true;
        }
        if (from, to) == (Phase::AwaitReady, Phase::PoweringOn) {
            // Another level has read Off, again and again.
            assert!(after.status.level < before.status.level);
            self.read = true;
        }
        if from != Phase::Closed && to == Phase::Closed && gave_way(after) {
            self.gives_way(before);
        }
        let tries = [Phase::AwaitGuards, Phase::KdumpWait, Phase::PoweringOff, Phase::InDoubt, Phase::Failed];
        self.left_off += u32::from(after.status.at_limit && !before.status.at_limit);
        self.trying &= tries.contains(&to) || to == Phase::Quarantined;
        let intended = |fence: &NodeFence| fence.status.intent.as_ref().map(|intent| (intent.op, intent.at));
        if intended(before) != intended(after) && intended(after).is_some_and(|(op, _)| op == IntendedOp::PowerOn) {
            assert!(self.read, "power on was intended again without a reading");
            let stays = after.status.at_limit && !after.status.returning && !after.spec.abort;
            assert!(!stays, "power on of a machine that is left off: {:?}", after.status);
            self.read = false;
        }
        if intended(before) != intended(after) && intended(after).is_some_and(|(op, _)| op == IntendedOp::PowerOff) {
            self.counted(before);
            self.intended += 1;
        }
    }

    /// Nothing is forgotten with it.
    fn gives_way(&mut self, before: &NodeFence) {
        let status = &before.status;
        assert!(status.cycles.is_empty() && status.off.is_none() && status.intent.is_none(), "{status:?}");
        let is_found_again = |taint: &Taint| taint.key == REMEDIATION_TAINT;
        assert!(!status.out_of_service && status.own_changes.taints.iter().all(is_found_again), "{status:?}");
        self.gave_way += 1;
    }

    /// Before it is turned off again: once for each time, whichever leader did it, whatever the clock, and whatever was
    /// heard of it.
    fn counted(&self, fence: &NodeFence) {
        let cycles = fence.status.cycles.len();
        let (begun, intended) = (self.begun, self.intended);
        assert!((begun..=intended).contains(&cycles), "{cycles} cycles of {begun} to {intended}: {:?}", fence.status);
    }

    pub(super) fn step(&mut self, fixture: &Fixture, op: &Op) {
        self.steps += 1;
        let status = &fixture.fence.status;
        assert_ne!(status.phase, Phase::Quarantined, "{op:?}");
        if let Op::Irreversible(op) = op {
            let op = op.intended();
            let intent = status.intent.as_ref().expect("an act without an intent");
            assert_eq!((intent.op, intent.epoch), (op, fixture.epoch));
            assert!(!self.doubt, "{op:?} although the end of the act before is unknown");
            assert!(!fixture.fence.spec.abort || op == IntendedOp::PowerOn, "{op:?} after an abort");
        }
        match op {
            Op::Reversible(ReversibleOp::ReadPower { .. }) => (self.doubt, self.read) = (false, true),
            Op::Irreversible(IrreversibleOp::PowerOff) => self.power_off(fixture),
            Op::Irreversible(IrreversibleOp::Release { .. }) => self.off(fixture, op),
            Op::Reversible(ReversibleOp::Taint(taint)) if taint.key == OUT_OF_SERVICE => self.off(fixture, op),
            _ => {}
        }
    }

    fn power_off(&self, fixture: &Fixture) {
        let drained = fixture.fence.status.drain.as_ref().is_some_and(|report| report.done);
        let silent = fixture.kubelet.as_ref().is_some_and(|lease| lease.stale_for(fixture.now.moment).as_secs() >= 15);
        assert!(drained || silent, "power off of a node that lives");
        assert_eq!(fixture.predicate, PredicateState::Yes);
        assert!(fixture.guard_blockers.power.iter().all(|blocker| blocker.reason == "PowerCycleLimit"));
    }

    fn off(&self, fixture: &Fixture, op: &Op) {
        let status = &fixture.fence.status;
        let off = status.off.as_ref().expect("a release without a confirmation");
        assert_eq!(off.boot_id, status.boot_id);
        assert!(off.reads >= 2);
        assert!(self.meddled || !fixture.powered, "{op:?} of a node whose power is on");
    }

    pub(super) fn ended(&mut self, fence: &NodeFence, op: &Op, outcome: Option<&Outcome>) {
        let certain = matches!(outcome, Some(Ok(_) | Err(Failed::NotBegun(_) | Failed::Gone(_))));
        let fits = !matches!((op, outcome), (Op::Irreversible(IrreversibleOp::PowerOff), Some(Ok(done))) if !matches!(done, Done::Off(_)));
        if *op == Op::Irreversible(IrreversibleOp::PowerOff)
            && !matches!(outcome, Some(Err(Failed::NotBegun(_) | Failed::Gone(_))))
            && !fence.status.at_limit
        {
            self.begun += usize::from(!self.trying);
            self.trying = true;
        }
        if matches!(op, Op::Irreversible(_)) && !(certain && fits) {
            self.doubt = true;
        }
    }

    pub(super) fn closed(&mut self, fixture: &Fixture) {
        // A reap whose end was unknown has come to it: the Node is gone.
        self.doubt &= fixture.node.is_some();
        self.counted(&fixture.fence);
        (self.intended, self.begun, self.trying) = (0, 0, false);
        self.ends += 1;
        assert_eq!(fixture.phase(), Phase::Closed);
        let Some(node) = &fixture.node else { return };
        let is_as_it_should = if gave_way(&fixture.fence) { has_only_what_is_found_again } else { is_clean };
        assert!(node.uid != fixture.fence.spec.node_uid || is_as_it_should(node), "{node:?}");
    }
}

fn is_clean(node: &Node) -> bool {
    node.taints.is_empty() && !node.unschedulable
}

/// By the next record: it knows a cordon by its annotation, and our taint by its key.
fn has_only_what_is_found_again(node: &Node) -> bool {
    let is_our_cordon = !node.unschedulable || node.annotations.contains_key(CORDONED_BY);
    is_our_cordon && node.taints.iter().all(|taint| taint.key == REMEDIATION_TAINT)
}

/// It closed for the policy of the tests that takes over; later entries are of an abort that came too late.
pub(super) fn gave_way(fence: &NodeFence) -> bool {
    let closed = format!("Closed: {}", Message::of("FenceClosed/superseded", &[("policy", &"heir")]).text);
    fence.status.log.iter().any(|entry| entry.text == closed)
}

/// How destructive it is.
pub(super) fn rank(before: &NodeFence, next: &Next) -> u32 {
    match next {
        Next::Act(Action::Perform { op, .. }) => rank_of_op(op),
        Next::Act(Action::Save { fence, .. }) => rank_of_save(before, fence),
        _ => 0,
    }
}

fn rank_of_op(op: &Op) -> u32 {
    match op {
        Op::Reversible(ReversibleOp::Taint(taint)) if taint.key == OUT_OF_SERVICE => 7,
        Op::Irreversible(IrreversibleOp::Release { .. }) | Op::Irreversible(IrreversibleOp::Reap) => 7,
        Op::Irreversible(IrreversibleOp::PowerOff) => 6,
        Op::Reversible(ReversibleOp::Methods(_)) => 4,
        Op::Reversible(ReversibleOp::Drain(_)) => 3,
        Op::Reversible(ReversibleOp::Taint(_)) | Op::Reversible(ReversibleOp::Cordon) => 2,
        Op::Irreversible(IrreversibleOp::PowerOn)
        | Op::Reversible(ReversibleOp::ReadPower { .. })
        | Op::Reversible(ReversibleOp::Untaint(_))
        | Op::Reversible(ReversibleOp::Uncordon | ReversibleOp::ForgetRelease) => 0,
    }
}

fn rank_of_save(before: &NodeFence, after: &NodeFence) -> u32 {
    let intended = after.status.intent.as_ref().filter(|_| before.status.intent.is_none()).map(|intent| intent.op);
    match (intended, after.status.phase) {
        (Some(IntendedOp::Release | IntendedOp::Reap), _) => 7,
        (Some(IntendedOp::PowerOff), _) => 6,
        (_, phase) if phase == before.status.phase => 0,
        (_, Phase::PodsReleased) => 7,
        (_, Phase::OffConfirmed) => 6,
        _ => 0,
    }
}
