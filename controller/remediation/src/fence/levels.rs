//! Fencing levels: by which of the ways to its power a machine is turned off. The first one that can be read and has not
//! failed; a level that an act was begun by stays the record's until that act has come to an end.

use std::{collections::BTreeSet, time::Duration};

use super::{
    FenceInput, Next, doubt::ATTEMPTS, interrupt::without_policy, off_run, record::Draft, release::must_be_silent,
};
use crate::{
    api::fence::{Blocker, IntendedOp, NodeFenceStatus, Phase},
    guard::reason::IDENTITY_UNPROVEN,
    message::{Message, MessageArgs},
    snapshot::{FenceLevel, FencePlan, FenceScope, Gathered, Level, PowerReading, PowerState},
    time::Moment,
};

/// A level whose questions have gone without an answer for so long gives way to the next one.
const SILENT_FOR: Duration = Duration::from_secs(10);
/// A level that was not asked for so long is not silent: nothing is known of it. One that is asked is so at least every 22 s.
const ASKED_WITHIN: Duration = Duration::from_secs(60);
/// Two readings apart, of a level that was not used: by then what it reports is no relic of the start.
const STILL_OFF_FOR: Duration = Duration::from_secs(2);
/// A reading is believed for so long.
const READING_LASTS: Duration = Duration::from_secs(10);

/// The level by which the record acts, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct LevelAtHand<'a> {
    pub(super) plan: &'a FencePlan,
    pub(super) number: Level,
    pub(super) level: &'a FenceLevel,
}

/// What is known of the levels of one node.
#[derive(Debug, Clone, Copy)]
struct Ways<'a> {
    gathered: &'a Gathered,
    status: Option<&'a NodeFenceStatus>,
    now: Moment,
}

impl<'a> Ways<'a> {
    fn of(input: &FenceInput<'a>) -> Self {
        Self { gathered: input.gathered, status: Some(&input.fence.status), now: input.now.moment }
    }

    /// Of the levels that can be used the one that failed least, then the first; if none can be used, the same of all that may
    /// answer yet, and one that is denied only if all are.
    fn best(&self, failed: &[Level]) -> Level {
        let failures = |number: Level| failed.iter().filter(|failed| **failed == number).count();
        let rank = |(number, level): &(Level, &FenceLevel)| {
            (self.is_denied(*number), !self.is_usable(*number, level), failures(*number), *number)
        };
        let best = plan_of(self.gathered).and_then(|plan| plan.numbered().min_by_key(rank));
        best.map(|(number, _)| number).unwrap_or_default()
    }

    /// Up to the one that is used; all of them while none can be, for whichever answers first.
    fn last_to_read(&self, failed: &[Level]) -> Level {
        let best = self.best(failed);
        let all = || plan_of(self.gathered).into_iter().flat_map(FencePlan::numbered);
        if all().any(|(number, level)| number == best && self.is_usable(number, level)) {
            return best;
        }
        all().last().map(|(number, _)| number).unwrap_or(best)
    }

    fn is_usable(&self, number: Level, level: &FenceLevel) -> bool {
        let is_silent = is_silent(self.gathered, number, self.now);
        level.identity == Some(Ok(())) && !is_silent && !self.is_denied(number)
    }

    /// It reported Off while the kubelet spoke, as this leader saw it or the record remembers, and no On since. A switch that
    /// keeps a node off its storage reports Off of a machine that runs, and is right.
    fn is_denied(&self, number: Level) -> bool {
        let asks = off_run::asks(self.gathered, number);
        let by_record =
            self.status.is_some_and(|status| off_run::denies(&off_run::denied_by(status, self.gathered), asks));
        let run = self.gathered.off_runs.get(&number);
        let is_seen = run.is_some_and(|run| run.is_contradicted && off_run::is_of(run, asks));
        plan_of(self.gathered).is_none_or(|plan| plan.storage_only.is_none()) && (by_record || is_seen)
    }
}

/// What is to be read of a node's power: what its record acts upon, or would, and other levels as far as they matter. Nothing
/// while that is unknown.
#[must_use]
pub fn to_read(status: Option<&NodeFenceStatus>, gathered: Option<&Gathered>, now: Moment) -> Vec<FenceScope> {
    let Some(scope) = scope(status, gathered, now) else { return Vec::new() };
    if scope.storage.is_some() {
        return vec![scope];
    }
    let last = gathered.map(|gathered| Ways { gathered, status, now }.last_to_read(failed_levels(status)));
    let last = last.max(Some(scope.level));
    let last = last.unwrap_or(scope.level);
    (Level::FIRST.0..=last.0).map(|number| FenceScope::machine(Level(number))).collect()
}

/// What an act of the record is of, or would be of now.
#[must_use]
pub fn scope(status: Option<&NodeFenceStatus>, gathered: Option<&Gathered>, now: Moment) -> Option<FenceScope> {
    if let Some(status) = status.filter(|status| is_begun(status)) {
        return Some(FenceScope::of(status));
    }
    let gathered = gathered?;
    let level = Ways { gathered, status, now }.best(failed_levels(status));
    Some(FenceScope { storage: plan_of(gathered)?.storage_only.clone(), level })
}

/// The methods, if they were read and can be used.
fn plan_of(gathered: &Gathered) -> Option<&FencePlan> {
    gathered.methods.as_ref()?.as_ref().ok()
}

fn failed_levels(status: Option<&NodeFenceStatus>) -> &[Level] {
    status.map(|status| status.failed_levels.as_slice()).unwrap_or_default()
}

fn is_begun(status: &NodeFenceStatus) -> bool {
    status.intent.is_some() || status.off.is_some()
}

/// That of an act that was begun, or the best one.
pub(super) fn current(input: &FenceInput<'_>) -> Level {
    let status = &input.fence.status;
    if is_begun(status) { status.level } else { Ways::of(input).best(&status.failed_levels) }
}

/// Some methods are denied, and whether those of the record's level are is not known.
pub(super) fn denial_unread(input: &FenceInput<'_>) -> Option<Blocker> {
    match &input.gathered.methods {
        _ if input.fence.status.denied_methods.is_empty() => None,
        Some(Ok(_)) => None,
        Some(Err(blocker)) => Some(blocker.clone()),
        None => Some(methods_unread()),
    }
}

/// What has, or may have, reported Off of the machine: the record has what leaders before have asked, and what is asked
/// now may be something else.
pub(super) fn methods_of_off(input: &FenceInput<'_>) -> BTreeSet<String> {
    let status = &input.fence.status;
    if status.storage_only.is_some() {
        return BTreeSet::new();
    }
    status.off_methods.iter().cloned().chain(methods_of(input, status.level)).collect()
}

/// What a level has asked of the machine, or asks, if that is known.
pub(super) fn methods_of(input: &FenceInput<'_>, level: Level) -> Vec<String> {
    let gathered = input.gathered;
    let asked = gathered.off_runs.get(&level).map(|run| run.methods.as_slice()).filter(|methods| !methods.is_empty());
    asked.or_else(|| off_run::asks(gathered, level)).map(<[String]>::to_vec).unwrap_or_default()
}

/// Its Off proves nothing.
pub(super) fn is_denied(input: &FenceInput<'_>, number: Level) -> bool {
    Ways::of(input).is_denied(number)
}

fn is_silent(gathered: &Gathered, number: Level, now: Moment) -> bool {
    silent_since(gathered, number, now).is_some_and(|since| now.since(since) >= SILENT_FOR)
}

/// When the first of the questions was asked that the level has not answered, if it is still asked.
#[must_use]
pub fn silent_since(gathered: &Gathered, number: Level, now: Moment) -> Option<Moment> {
    let since = *gathered.unanswered.get(&number)?;
    let readings = gathered.power.iter().filter(|reading| reading.level == number);
    let asked = readings.map(|reading| reading.at).fold(since, Moment::max);
    (now.since(asked) <= ASKED_WITHIN).then_some(since)
}

/// How it is fenced, if what is asked at the level is known to be its own.
pub(super) fn at_hand<'a>(input: &FenceInput<'a>) -> Result<LevelAtHand<'a>, Blocker> {
    let plan = match &input.gathered.methods {
        Some(Ok(plan)) => plan,
        Some(Err(blocker)) => return Err(blocker.clone()),
        None => return Err(methods_unread()),
    };
    let number = current(input);
    let Some(level) = plan.level(number).filter(|level| !level.methods.is_empty()) else {
        return Err(Blocker::plain("NoMethods/power"));
    };
    if is_denied(input, number) {
        return Err(Blocker::plain("FenceNotReady/readsOff"));
    }
    match &level.identity {
        Some(Ok(())) => Ok(LevelAtHand { plan, number, level }),
        Some(Err(_)) => Err(Blocker::of(IDENTITY_UNPROVEN, &[("error", &unproven(plan))])),
        None => Err(Blocker::plain("IdentityUnproven/unread")),
    }
}

/// The fence methods were not read yet; they are within seconds.
pub(super) fn methods_unread() -> Blocker {
    Blocker::plain("FenceNotReady/unread")
}

/// Why no level is known to be the node's, each with its number if there are several.
fn unproven(plan: &FencePlan) -> String {
    let errors = plan.numbered().filter_map(|(number, level)| {
        let error = level.identity.as_ref()?.as_ref().err()?;
        Some(if plan.levels.len() > 1 { format!("level {number}: {error}") } else { error.clone() })
    });
    errors.collect::<Vec<_>>().join("; ")
}

/// It speaks of the power that the record acts upon: by the same level, or by asking the machine itself.
pub(super) fn counts(input: &FenceInput<'_>, reading: &PowerReading) -> bool {
    reading.level == current(input) || reading.asks_machine
}

/// Acts that failed by levels that were given up, one after the other, are as many as a person has to look at.
pub(super) fn are_exhausted(input: &FenceInput<'_>) -> bool {
    let levels = plan_of(input.gathered).into_iter().flat_map(FencePlan::numbered).count().max(1);
    input.fence.status.failed_levels.len() >= levels.saturating_mul(ATTEMPTS as usize)
}

/// What becomes of a record whose level cannot be read, when another one can. An order to turn off whose end is unknown
/// does no harm if it is carried out late; Off that was confirmed is to be confirmed by the other level, also where it is unknown
/// whether its pods were released. One that is to be turned on, and that fell silent with its pods, is a dead node again; one
/// that was emptied may be booting, unseen by its BMC. What a person aborted, or no policy asks for, waits for its level.
pub(super) fn instead_of_silent(input: &FenceInput<'_>) -> Option<Next> {
    let status = &input.fence.status;
    let intended = status.intent.as_ref().map(|intent| intent.op);
    let is_wanted = !input.fence.spec.abort && !without_policy(input);
    let may_give_up = match intended {
        Some(IntendedOp::PowerOff) => status.phase == Phase::InDoubt,
        Some(IntendedOp::Release) => status.phase == Phase::InDoubt && is_wanted,
        Some(IntendedOp::PowerOn) => {
            let has_its_pods = !status.release_begun && must_be_silent(input.fence);
            status.phase == Phase::InDoubt && is_wanted && has_its_pods
        }
        Some(IntendedOp::Reap) => false,
        None => [Phase::InDoubt, Phase::OffConfirmed].contains(&status.phase),
    };
    let silent = is_silent(input.gathered, status.level, input.now.moment);
    (may_give_up && silent).then(|| next_level(input, |draft| draft.settle())).flatten()
}

/// After an act that failed: at another level it is another act, which waits for nothing.
pub(super) fn instead_of_failed(input: &FenceInput<'_>) -> Option<Next> {
    let failed = input.fence.status.failed_levels.last()?;
    (*failed == input.fence.status.level).then(|| next_level(input, |draft| draft)).flatten()
}

/// To the best other level, if that can be used.
fn next_level(input: &FenceInput<'_>, end: impl FnOnce(Draft) -> Draft) -> Option<Next> {
    let status = &input.fence.status;
    let plan = plan_of(input.gathered)?;
    let mut failed = status.failed_levels.clone();
    let tried = status.phase == Phase::InDoubt;
    failed.extend(tried.then_some(status.level));
    let ways = Ways::of(input);
    let next = ways.best(&failed);
    let usable = ways.is_usable(next, plan.level(next)?);
    if next == status.level || !usable || are_exhausted(input) {
        return None;
    }
    let args: MessageArgs<'_> = &[("before", &status.level), ("next", &next)];
    let draft = end(Draft::of(input)).with(|status| {
        status.off = None;
        status.out_of_service = false;
        status.failures = 0;
        status.last_failure = None;
        status.failed_levels = failed;
    });
    Some(draft.enter(Phase::AwaitGuards, Message::of("FenceAwaitGuards/nextLevel", args)).save())
}

/// That a way to the machine has failed is worth a person's look, although another one has not.
pub(super) fn degraded(input: &FenceInput<'_>, at: LevelAtHand<'_>) -> Option<Message> {
    let before = at.plan.numbered().take_while(|(number, _)| *number < at.number);
    let why: Vec<String> = before.map(|(number, level)| why_not(input, number, level)).collect();
    let (number, methods) = (at.number, at.level.methods.join(", "));
    let args: MessageArgs<'_> = &[("level", &number), ("methods", &methods), ("why", &why.join("; "))];
    (!why.is_empty()).then(|| Message::of("FenceDegraded", args))
}

fn why_not(input: &FenceInput<'_>, number: Level, level: &FenceLevel) -> String {
    let what = if input.fence.status.failed_levels.contains(&number) {
        "did not turn it off"
    } else if level.identity == Some(Ok(())) {
        "does not answer"
    } else {
        "is not proven to be its own"
    };
    format!("level {number} ({}) {what}", level.methods.join(", "))
}

/// The machine was turned on by an outlet, and its BMC, which answers again, reports that it is off.
pub(super) fn to_turn_on_too(input: &FenceInput<'_>) -> Option<Level> {
    let status = &input.fence.status;
    let plan = plan_of(input.gathered).filter(|_| status.off.is_some())?;
    let before = plan.numbered().take_while(|(number, _)| *number < status.level);
    let mut usable = before.filter(|(number, level)| {
        level.asks_machine && Ways::of(input).is_usable(*number, level) && is_still_off(input, *number)
    });
    usable.next().map(|(number, _)| number)
}

/// Those that can be used.
pub(super) fn that_ask_the_machine<'a>(input: &FenceInput<'a>) -> impl Iterator<Item = Level> + use<'a> {
    let ways = Ways::of(input);
    let all = plan_of(ways.gathered).into_iter().flat_map(FencePlan::numbered);
    all.filter(move |(number, level)| level.asks_machine && ways.is_usable(*number, level)).map(|(number, _)| number)
}

/// What its methods cut off, as they are by now, is a storage.
pub(super) fn is_of_storage(input: &FenceInput<'_>) -> bool {
    plan_of(input.gathered).is_some_and(|plan| plan.storage_only.is_some())
}

fn is_still_off(input: &FenceInput<'_>, number: Level) -> bool {
    let all = input.gathered.power.iter().rev().filter(|reading| reading.level == number);
    let tail = all.take_while(|reading| reading.state == PowerState::Off && reading.at > input.entered);
    let asked: Vec<Moment> = tail.map(|reading| reading.at).collect();
    asked.first().zip(asked.last()).is_some_and(|(newest, oldest)| {
        newest.since(*oldest) >= STILL_OFF_FOR && input.now.moment.since(*newest) <= READING_LASTS
    })
}
