//! Open records: each is asked for its next step, with what the guards permit.

use std::{borrow::Cow, collections::BTreeMap};

use super::{
    Pass,
    candidates::PolicyMatches,
    gather_requests,
    heir::{self, Succession},
    judged::PredicateResult,
    orphans, phase_entry,
};
use crate::{
    action::{Action, IrreversibleOp, Op, ReversibleOp},
    api::{
        self,
        fence::{Blocker, IntendedOp, NodeFence, NodeFenceStatus, Phase},
        policy::Mode,
    },
    drain::DrainRules,
    facts::Node,
    fence::{self, FenceInput, Next, PredicateState, post_off_activity::PostOffActivity},
    guard::{
        self, Subject,
        reason::BUSY,
        stage::{DisruptionLevel, has_begun},
    },
    node_report::NodeReport,
    policy::{Policy, step_name},
    snapshot::{Gathered, Snapshot},
    time::Moment,
};

/// Those that have begun come first, then those whose drains left pods the fewest times, then by name: no record that waits
/// for a slot waits for one behind it, and two that cannot be drained do not hand it to each other.
pub(super) fn decide<'a>(pass: &mut Pass<'a>, matches: &BTreeMap<String, PolicyMatches<'a>>) {
    let snapshot = pass.input.snapshot;
    pass.memory.entered.retain(|name, _| snapshot.fences.contains_key(name));
    pass.memory.post_off_activities = post_off_activities(pass);
    let default_policy = Policy { mode: Mode::Enforce, ..Policy::default() };
    let (begun, waiting): (Vec<_>, Vec<_>) =
        snapshot.fences.iter().partition(|(_, fence)| has_begun(fence, DisruptionLevel::Power));
    let mut waiting = waiting;
    waiting.sort_by_key(|(_, fence)| fence.status.drain_rounds);
    for (name, fence) in begun.into_iter().chain(waiting) {
        decide_one(pass, name, fence, &default_policy, matches.get(name));
        pass.input.tally.reserve(name, fence);
    }
}

fn post_off_activities(pass: &Pass<'_>) -> BTreeMap<String, PostOffActivity> {
    let snapshot = pass.input.snapshot;
    let observe = |(name, fence): (&String, &NodeFence)| {
        let before = pass.memory.post_off_activities.get(name);
        let (node, lease) = (snapshot.nodes.get(name), snapshot.kubelet_leases.get(name));
        let post_off_activity = PostOffActivity::observe(before, fence, node, lease, pass.input.now.moment)?;
        Some((name.clone(), post_off_activity))
    };
    snapshot.fences.iter().filter_map(observe).collect()
}

fn decide_one<'a>(
    pass: &mut Pass<'a>,
    name: &'a str,
    fence: &'a NodeFence,
    default_policy: &Policy,
    matches: Option<&PolicyMatches<'a>>,
) {
    let entered = phase_entry::enter(pass, name, fence);
    let asked = RecordPolicy::of(pass, name, fence, default_policy);
    let own_node = pass.input.snapshot.nodes.get(name).filter(|node| node.uid == fence.spec.node_uid);
    let subject = Subject {
        name,
        node: own_node,
        fence: Some(fence),
        policy: &asked.policy,
        unreadable: asked.unreadable.as_deref(),
        error: asked.error(),
        by_events_alone: asked.answer.as_ref().is_some_and(|answer| answer.by_events_alone),
    };
    let mut node_report = begin_node_report(name, fence);
    node_report.errors.extend(asked.error().map(|error| (asked.policy.name.clone(), error.to_owned())));
    if pass.input.snapshot.busy.contains(name) {
        node_report.blockers.push(Blocker::plain(BUSY));
        report_undrained(fence, &mut node_report);
    } else {
        let own_node = own_node.filter(|_| !is_skipped(&subject));
        let succession = own_node.map_or(Succession::None, |node| heir::succession(pass, fence, node, matches));
        let (next, restored_at) = next(pass, &subject, &asked, entered, succession.ready());
        carry_out(pass, &subject, next, &mut node_report);
        if let Some(at) = restored_at.filter(|_| !pass.may_not_act() && !is_skipped(&subject)) {
            node_report.restored_at = pass.input.now.at(at);
            node_report.next = None;
        }
        succession.report(pass, fence, &mut node_report);
    }
    pass.decision.gather.insert(name.to_owned(), gather_requests::of(fence, subject.node, &asked.policy));
    pass.node_reports.insert(name, node_report);
}

/// One reason without a break, from the first drain that left pods to one that gets through: an alert waits for that.
pub(super) fn report_undrained(fence: &NodeFence, node_report: &mut NodeReport) {
    let is_drained = fence.status.drain.as_ref().is_some_and(|report| report.done);
    let is_waited_for = match fence.status.phase {
        Phase::Pending | Phase::Isolating | Phase::Draining | Phase::Waiting | Phase::AwaitGuards => !is_drained,
        Phase::KdumpWait | Phase::PoweringOff | Phase::OffConfirmed | Phase::PodsReleased | Phase::PoweringOn => false,
        Phase::AwaitReady | Phase::Reaping | Phase::Recovering | Phase::Closed => false,
        Phase::InDoubt | Phase::Failed | Phase::Quarantined => false,
    };
    let is_new = |blocker: &Blocker| node_report.blockers.iter().all(|known| known.reason != blocker.reason);
    let undrained = fence::undrained(fence).filter(|blocker| is_waited_for && is_new(blocker));
    node_report.blockers.extend(undrained);
}

/// What the policy of a record says now.
struct RecordPolicy<'a> {
    /// Its own, or one with every limit at its default.
    policy: Cow<'a, Policy>,
    is_known: bool,
    unreadable: Option<String>,
    answer: Option<PredicateResult>,
}

impl<'a> RecordPolicy<'a> {
    fn of(pass: &Pass<'a>, name: &str, fence: &NodeFence, default_policy: &Policy) -> Self {
        let (snapshot, wanted) = (pass.input.snapshot, &fence.spec.policy);
        let known = snapshot.policies.iter().find(|policy| policy.name == *wanted);
        let answer = pass.memory.judged.get(wanted).and_then(|judged| judged.of(name)).cloned();
        let limits = || Cow::Owned(Policy { name: wanted.clone(), ..default_policy.clone() });
        let policy = known.map_or_else(limits, Cow::Borrowed);
        Self { policy, is_known: known.is_some(), unreadable: unreadable(snapshot, fence, known.is_some()), answer }
    }

    fn error(&self) -> Option<&str> {
        self.answer.as_ref().and_then(|answer| answer.result.as_ref().err()).map(String::as_str)
    }

    fn predicate_state(&self, fence: &NodeFence, node: Option<&Node>) -> PredicateState {
        match &self.answer {
            _ if fence.spec.policy.is_empty() => without_predicate(fence, node),
            Some(PredicateResult { result: Ok(true), .. }) => PredicateState::Yes,
            Some(PredicateResult { result: Ok(false), since, .. }) => PredicateState::No { since: *since },
            Some(PredicateResult { result: Err(_), .. }) | None => PredicateState::Unknown,
        }
    }
}

/// A person's record needs no predicate: they want the node fenced. What they want is over once its power was cut for it and
/// the node is Ready with another boot; else the record would begin again for ever.
fn without_predicate(fence: &NodeFence, node: Option<&Node>) -> PredicateState {
    let status = &fence.status;
    let old = status.off.as_ref().map(|off| &off.boot_id).filter(|boot| !boot.is_empty()).unwrap_or(&status.boot_id);
    let was_cut = status.off.is_some() || status.released_at.is_some() || !status.cycles.is_empty();
    let is_another = |node: &&Node| !old.is_empty() && !node.boot_id.is_empty() && node.boot_id != *old;
    let ready = node.filter(is_another).filter(|node| was_cut && node.is_ready());
    match ready.and_then(|node| node.condition("Ready")) {
        Some(ready) => PredicateState::No { since: ready.change_seen_at },
        None => PredicateState::Yes,
    }
}

/// What is done next; and when the node is given back, if that comes first.
fn next(
    pass: &Pass<'_>,
    subject: &Subject<'_>,
    asked: &RecordPolicy<'_>,
    entered: Moment,
    superseded_by: Option<&str>,
) -> (Next, Option<Moment>) {
    let (snapshot, name) = (pass.input.snapshot, subject.name);
    let Some(fence) = subject.fence else { return (Next::Wait { until: None, blockers: Vec::new() }, None) };
    let whole = whole(pass, fence, subject.node);
    // A closure, for what the input borrows lives as long as one call.
    let both = |input: &FenceInput<'_>| ((pass.state_machine)(input), fence::restored_at(input));
    both(&FenceInput {
        fence: &whole,
        node: snapshot.nodes.get(name),
        kubelet_lease: snapshot.kubelet_leases.get(name),
        agent_lease: snapshot.agent_leases.get(name),
        gathered: snapshot.gathered.get(name).unwrap_or(&Gathered::default()),
        denied_before: snapshot.denied_before(name, &fence.spec.node_uid),
        policy: asked.is_known.then_some(&*asked.policy),
        predicate: asked.predicate_state(fence, subject.node),
        guard_blockers: &guard::all_blockers(&pass.input, subject),
        superseded_by,
        entered,
        post_off_activity: pass.memory.post_off_activities.get(name),
        epoch: snapshot.epoch,
        now: pass.input.now,
    })
}

/// The API server drops the status of what is created: a leader that ended before it wrote that, or a person, leaves a record
/// that knows neither what is ours on the Node nor the power cycles before. The first thing that is saved has both.
fn whole<'f>(pass: &Pass<'_>, fence: &'f NodeFence, node: Option<&Node>) -> Cow<'f, NodeFence> {
    if fence.status != NodeFenceStatus::default() {
        return Cow::Borrowed(fence);
    }
    let mut whole = fence.clone();
    whole.status.earlier_cycles = pass.input.history.cycles_of(&fence.spec.node_name);
    if let Some(node) = node {
        whole.status.own_changes = orphans::own_changes(node, &fence.spec.policy);
    }
    Cow::Owned(whole)
}

/// A record that a person made has no policy, and needs none.
fn unreadable(snapshot: &Snapshot, fence: &NodeFence, known: bool) -> Option<String> {
    let policy = &fence.spec.policy;
    match snapshot.unreadable_policies.get(policy) {
        Some(problem) => Some(format!("it cannot be read: {problem}")),
        None if known || policy.is_empty() => None,
        None => Some("it is gone".into()),
    }
}

fn begin_node_report(name: &str, fence: &NodeFence) -> NodeReport {
    NodeReport {
        node: name.to_owned(),
        policy: (!fence.spec.policy.is_empty()).then(|| fence.spec.policy.clone()),
        phase: Some(fence.status.phase),
        next: at_hand(fence).map(str::to_owned),
        ..NodeReport::default()
    }
}

/// The step at hand, or the one behind it if that is done, or that all is taken back.
pub(super) fn at_hand(fence: &NodeFence) -> Option<&'static str> {
    let at = |index: usize| fence.spec.steps.get(index).map(step_name);
    let step = || at(fence.status.policy_step);
    match fence.status.phase {
        Phase::Pending | Phase::Isolating | Phase::Draining | Phase::AwaitGuards => step(),
        // Whether it has helped.
        Phase::Waiting => at(fence.status.policy_step.saturating_add(1)),
        Phase::KdumpWait | Phase::PoweringOff | Phase::OffConfirmed | Phase::PodsReleased => step(),
        Phase::PoweringOn | Phase::Reaping => step(),
        Phase::InDoubt | Phase::Failed | Phase::Quarantined => step(),
        Phase::AwaitReady | Phase::Recovering => Some("restore"),
        Phase::Closed => None,
    }
}

fn carry_out(pass: &mut Pass<'_>, subject: &Subject<'_>, next: Next, node_report: &mut NodeReport) {
    match next {
        Next::Act(_) if pass.may_not_act() || is_skipped(subject) => {
            node_report.blockers.extend(guard::all_blockers(&pass.input, subject).power);
        }
        Next::Act(action) => {
            charge(pass, subject, &action);
            pass.decision.actions.push(action);
        }
        Next::Wait { until, blockers } => {
            node_report.blockers.extend(blockers);
            until.into_iter().for_each(|until| pass.requeue_at(until));
        }
    }
}

/// A person's annotation to skip a node is for everything of it.
fn is_skipped(subject: &Subject<'_>) -> bool {
    let node = subject.node.is_some_and(|node| node.annotations.contains_key(api::SKIP_REMEDIATION));
    node || subject.fence.is_some_and(|fence| fence.metadata.annotations.contains_key(api::SKIP_REMEDIATION))
}

/// Counts an action against the budgets of every node after it.
fn charge(pass: &mut Pass<'_>, subject: &Subject<'_>, action: &Action) {
    let Some((name, fence)) = pass.input.snapshot.fences.get_key_value(subject.name) else { return };
    let now = pass.input.now.moment;
    let policy = &fence.spec.policy;
    if let Some(level) = level_of(action) {
        pass.input.tally.charge(name, policy, level);
        pass.input.history.charge(policy, name, &fence.metadata.uid, level, now);
    }
    let marked = marked_drain(fence, action);
    if marked.is_some() {
        pass.input.history.charge_again(policy, name, &fence.metadata.uid, now);
    }
    // Of those that go with the taint DaemonSets own some, too.
    let listed = pass.input.snapshot.gathered.get(name).and_then(|gathered| gathered.pods.as_ref());
    let listed = listed.map(|(_, pods)| pods.as_slice());
    let most = subject.policy.pods.count as usize;
    if let Some(rules) = &marked {
        pass.input.history.begin_drain(fence, rules, listed, most, pass.input.now);
    } else if let Action::Perform { op: Op::Reversible(ReversibleOp::Drain(rules)), .. } = action {
        pass.input.history.begin_drain(fence, rules, listed, most, pass.input.now);
    } else if moves_pods(action) {
        let unlisted = intended_pods(action).unwrap_or(most);
        pass.input.history.charge_release(fence, listed, unlisted, subject.policy.pods.window, now);
    }
}

/// The drain whose beginning is stored by this action: from now on its pods are not another node's to move.
fn marked_drain(fence: &NodeFence, action: &Action) -> Option<DrainRules> {
    let Action::Save { fence: saved, .. } = action else { return None };
    let is_new = fence.status.drain_begun_at.is_none() && saved.status.drain_begun_at.is_some();
    is_new.then(|| fence::drain_at_hand(saved)).flatten()
}

/// The pods that another leader counted when it intended this release. Where none counted them, they use up the whole rate.
fn intended_pods(action: &Action) -> Option<usize> {
    let Action::Save { fence, .. } = action else { return None };
    let intent = fence.status.intent.as_ref().filter(|intent| intent.op == IntendedOp::Release)?;
    usize::try_from(intent.pods).ok().filter(|pods| *pods > 0)
}

/// A release counts from when it is intended, before another node's is: nothing stops it after the act.
fn moves_pods(action: &Action) -> bool {
    match action {
        Action::Perform { op: Op::Irreversible(op), .. } => op.intended() == IntendedOp::Release,
        Action::Perform { op: Op::Reversible(op), .. } => match op {
            ReversibleOp::Drain(_) => true,
            ReversibleOp::Taint(_) | ReversibleOp::Untaint(_) | ReversibleOp::Cordon | ReversibleOp::Uncordon => false,
            ReversibleOp::Methods(_) | ReversibleOp::ForgetRelease | ReversibleOp::ReadPower { .. } => false,
        },
        Action::Save { fence, .. } => {
            fence.status.intent.as_ref().is_some_and(|intent| intent.op == IntendedOp::Release)
        }
        Action::Open(_) | Action::Close { .. } => false,
    }
}

/// How disruptive an action is, if it disrupts anything.
fn level_of(action: &Action) -> Option<DisruptionLevel> {
    match action {
        Action::Perform { op: Op::Reversible(op), .. } => match op {
            ReversibleOp::Taint(_) | ReversibleOp::Cordon => Some(DisruptionLevel::Isolate),
            ReversibleOp::Drain(_) => Some(DisruptionLevel::Drain),
            ReversibleOp::Methods(_) => Some(DisruptionLevel::Power),
            ReversibleOp::Untaint(_)
            | ReversibleOp::Uncordon
            | ReversibleOp::ForgetRelease
            | ReversibleOp::ReadPower { .. } => None,
        },
        Action::Perform { op: Op::Irreversible(op), .. } => match op {
            IrreversibleOp::PowerOff | IrreversibleOp::Reap | IrreversibleOp::Release { .. } => {
                Some(DisruptionLevel::Power)
            }
            IrreversibleOp::PowerOn => None,
        },
        // A phase that is written is one that is entered.
        Action::Save { fence, .. } => {
            [DisruptionLevel::Power, DisruptionLevel::Isolate].into_iter().find(|level| has_begun(fence, *level))
        }
        Action::Open(_) | Action::Close { .. } => None,
    }
}
