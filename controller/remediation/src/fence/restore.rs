//! Power on again: PoweringOn and AwaitReady. Guards that only limit what is begun do not block this.

use super::{
    FenceInput, Next, PredicateState,
    begin::{STEP_ROUNDS, back_off, enter_step, phase_deadline},
    blockers::{self, wait, wait_until},
    doubt::{ATTEMPTS, wait_for_person},
    interrupt::{new_boot, own_node, ready_anew},
    left_off,
    levels::{self, LevelAtHand},
    post_off_activity::is_suspected,
    record::{Draft, perform},
    release::{is_read_on, pods_unknown, recent_pods},
    steps::{self, PolicyStep},
};
use crate::{
    action::IrreversibleOp,
    api::{
        STORAGE_RELEASED,
        fence::{Blocker, IntendedOp, NodeFence, Phase},
        policy::PowerStep,
    },
    facts::{Node, kubelet},
    message::Message,
    snapshot::PowerState,
};

pub(super) fn powering_on(input: &FenceInput<'_>) -> Next {
    let status = &input.fence.status;
    if status.intent.is_some() {
        return match ready_to_power_on(input) {
            Ok(_) => perform(input, IrreversibleOp::PowerOn),
            Err(_) => Draft::of(input).enter(Phase::InDoubt, Message::plain("FenceInDoubt/guards")).save(),
        };
    }
    if let Some(next) = stays_off(input).or_else(|| is_on(input)).or_else(|| may_live(input)) {
        return next;
    }
    if status.failures >= ATTEMPTS {
        if let Some(next) = stays_dead(input) {
            return next;
        }
        return Draft::of(input).quarantine(Blocker::of("Attempts/powerOn", &[("attempts", &ATTEMPTS)])).save();
    }
    match ready_to_power_on(input) {
        Err(blockers) => wait(input, blockers, None),
        Ok(at) => back_off(input).unwrap_or_else(|| intend_on(input, at)),
    }
}

/// It cannot be turned on, and its pods are its own still, for it had recovered before it was cut: they are released, once its Off
/// is read again. A release is begun by it, so that there is an end.
fn stays_dead(input: &FenceInput<'_>) -> Option<Next> {
    let releases = matches!(steps::current(input.fence), Some(Ok(PolicyStep::Power { releases: true, .. })));
    let is_dead = matches!(input.predicate, PredicateState::Yes);
    let status = &input.fence.status;
    if status.release_begun || status.storage_only.is_some() || input.fence.spec.abort || !releases || !is_dead {
        return None;
    }
    let draft = Draft::of(input).with(|status| (status.failures, status.last_failure) = (0, None));
    Some(draft.enter(Phase::InDoubt, Message::plain("FenceInDoubt/neverOn")).save())
}

fn ready_to_power_on<'a>(input: &FenceInput<'a>) -> Result<LevelAtHand<'a>, Vec<Blocker>> {
    let mut blockers = blockers::to_power_on(input);
    match levels::at_hand(input) {
        Ok(at) if blockers.is_empty() => Ok(at),
        Ok(_) => Err(blockers),
        Err(blocker) => Err({
            blockers.retain(|other| other.reason != blocker.reason);
            blockers.push(blocker);
            blockers
        }),
    }
}

fn intend_on(input: &FenceInput<'_>, at: LevelAtHand<'_>) -> Next {
    let draft = Draft::of(input).with(|status| {
        status.jobs = at.level.methods.iter().map(|method| format!("{method}/on")).collect();
    });
    draft.intend(IntendedOp::PowerOn).note(Message::plain("PowerOnIntended")).save()
}

/// Storage is not restored to a boot whose pods run elsewhere by now: the record shows that, or, of a record that was
/// deleted, the Node.
fn stays_off(input: &FenceInput<'_>) -> Option<Next> {
    if input.fence.status.storage_only.is_some() {
        let Some(node) = own_node(input) else { return Some(wait(input, Vec::new(), None)) };
        let another = are_different_boots(&input.fence.status.boot_id, &node.boot_id);
        match (another, pods_are_there(input)) {
            (false, None) => return Some(pods_unknown(input)),
            (false, Some(false)) => return Some(stays_cut_off(input)),
            (true, _) | (false, Some(true)) => {}
        }
        if must_stay_cut_off(input.fence, node) {
            return Some(stays_cut_off(input));
        }
    }
    left_off::is_left_off(input.fence)
        .then(|| left_off::given_back(input).unwrap_or_else(|| left_off::stays_off(input)))
}

/// Whichever actor let them go: successors of those that are gone may run elsewhere. Nothing while they cannot be
/// listed.
fn pods_are_there(input: &FenceInput<'_>) -> Option<bool> {
    let pods = recent_pods(input)?;
    let there = |uid: &String| pods.iter().any(|pod| pod.at.uid == *uid);
    Some(input.fence.status.storage_pods.iter().all(there))
}

/// Another actor may give its storage back to it, while its pods write elsewhere.
fn stays_cut_off(input: &FenceInput<'_>) -> Next {
    let is_cut_no_more = is_read_on(input);
    wait_for_person(input, if is_cut_no_more { "LeftCut/readsOn" } else { "LeftCut" })
}

/// The node must stay cut off its storage: pods of the boot that it runs, or may run, were released meanwhile, and run
/// elsewhere by now.
#[must_use]
pub fn must_stay_cut_off(fence: &NodeFence, node: &Node) -> bool {
    let status = &fence.status;
    let cut = status.off.as_ref().map_or(&status.boot_id, |off| &off.boot_id);
    let by_record = status.release_begun && !are_different_boots(cut, &node.boot_id);
    let by_node = node.annotations.get(STORAGE_RELEASED).is_some_and(|boot| !are_different_boots(boot, &node.boot_id));
    by_record || by_node
}

/// Both are known, and differ.
pub(super) fn are_different_boots(boot: &str, other: &str) -> bool {
    !boot.is_empty() && !other.is_empty() && boot != other
}

/// Its BMC reports Off and its kubelet renews its Lease: which of them is right is known soon, and no fence agent is run
/// until then.
fn may_live(input: &FenceInput<'_>) -> Option<Next> {
    let blockers = vec![Blocker::plain("AwaitingReady/doubt")];
    if !is_suspected(input) {
        return None;
    }
    let booted = own_node(input).is_some_and(|node| new_boot(input, node));
    let next = || Draft::of(input).enter(Phase::AwaitReady, Message::plain("FenceAwaitReady/booted")).save();
    Some(if booted { next() } else { wait(input, blockers, None) })
}

fn is_on(input: &FenceInput<'_>) -> Option<Next> {
    let newest = input.gathered.power.iter().rev().find(|reading| levels::counts(input, reading))?;
    let on = newest.state == PowerState::On && newest.at > input.entered;
    on.then(|| Draft::of(input).enter(Phase::AwaitReady, Message::plain("FenceAwaitReady")).save())
}

fn current_step<'a>(input: &FenceInput<'a>) -> Option<&'a PowerStep> {
    match steps::current(input.fence) {
        Some(Ok(PolicyStep::Power { step, .. })) => Some(step),
        Some(
            Ok(PolicyStep::Taint(_) | PolicyStep::Cordon | PolicyStep::Drain(_) | PolicyStep::Reap { .. }) | Err(_),
        )
        | None => None,
    }
}

pub(super) fn await_ready(input: &FenceInput<'_>) -> Next {
    let is_new_boot = ready_anew(input);
    if is_new_boot || (input.fence.status.storage_only.is_some() && is_alive(input)) {
        let key = if is_new_boot { "FenceRecovering" } else { "FenceRecovering/alive" };
        return Draft::of(input).enter(Phase::Recovering, Message::plain(key)).save();
    }
    if let Some(level) = levels::to_turn_on_too(input) {
        let message = Message::of("FencePoweringOn/level", &[("level", &level)]);
        return Draft::of(input).with(|status| status.level = level).enter(Phase::PoweringOn, message).save();
    }
    let span = steps::ready_timeout(current_step(input).unwrap_or(&PowerStep::default()));
    match span.map(|span| phase_deadline(input, span)) {
        Err(blocker) => wait(input, vec![blocker], None),
        Ok(Some(until)) => wait_until(input, until),
        Ok(None) => never_ready(input),
    }
}

pub(super) fn is_alive(input: &FenceInput<'_>) -> bool {
    let renewed = input.kubelet_lease.is_some_and(|lease| lease.stale_for(input.now.moment) < kubelet::ALIVE_WITHIN);
    renewed && own_node(input).is_some_and(Node::is_ready)
}

/// On to the next step, or the same one again.
fn never_ready(input: &FenceInput<'_>) -> Next {
    if input.fence.spec.abort {
        return wait_for_person(input, "NeverReady");
    }
    let status = &input.fence.status;
    let draft = Draft::of(input).with(|status| {
        status.off = None;
        status.out_of_service = false;
    });
    if status.policy_step + 1 < input.fence.spec.steps.len() {
        return enter_step(input, status.policy_step + 1, draft, Message::plain("FencePhase/neverReady"));
    }
    if status.step_rounds >= STEP_ROUNDS {
        return draft.quarantine(Blocker::of("NeverReady/rounds", &[("rounds", &STEP_ROUNDS)])).save();
    }
    let draft = draft.with(|status| status.step_rounds += 1).failed();
    draft.enter(Phase::Failed, Message::plain("FenceFailed/neverReady")).save()
}
