//! What is to be done now: pods to evict, or the drain's end.

use std::{fmt, time::Duration};

use crate::{
    api::fence::DrainReport,
    facts::{DisruptionBudget, Pod, PodRef, Volume},
    policy::duration,
    time::{Moment, Now},
};

use super::{
    DrainRules,
    filter::{PodDeleteStatus, classify},
    state::{DrainState, Tries},
};

/// Pods are listed again so often: a pod that is gone, or a new one, is seen within it.
const RELIST_INTERVAL: Duration = Duration::from_secs(1);
/// Of what was not evicted because of another pod.
const NOT_ASKED: &str = "it was not asked to go: another pod stands in the way";
/// A record is not a log.
const MAX_LINES: usize = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalKind {
    /// Asks the disruption budgets.
    Evict,
    Delete,
}

/// One eviction or deletion, with the pod's UID as its precondition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodRemoval {
    pub pod: PodRef,
    pub kind: RemovalKind,
    /// The grace period; nothing for the pod's own.
    pub grace: Option<Duration>,
    /// Deleted at the end of the drain's time (`forceOnTimeout`), when its eviction did not succeed.
    pub forced: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrainNext {
    /// To be made now; none once there is a verdict.
    pub calls: Vec<PodRemoval>,
    /// Pods whose eviction is refused and whose budgets were not asked for yet, to name the one that refuses.
    pub ask: Vec<PodRef>,
    /// List the pods again then.
    pub until: Moment,
    /// The drain has ended: its report.
    pub verdict: Option<DrainReport>,
    /// While there is no verdict: the pods that do not go.
    pub waits: Vec<PodWait>,
}

/// A pod that does not go, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodWait {
    pub pod: PodRef,
    pub why: String,
}

impl fmt::Display for PodWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}: {}", self.pod.namespace, self.pod.name, self.why)
    }
}

/// The next thing for a drain that began at `started`, with the node's pods as they were just listed.
#[must_use]
pub fn next(rules: &DrainRules, pods: &[Pod], state: &mut DrainState, started: Moment, now: Now) -> DrainNext {
    let deadline = started.plus(rules.timeout);
    let view = SortedPods::of(rules, pods, now);
    let verdict = verdict(rules, &view, state, now.moment >= deadline);
    let until = now.moment.plus(RELIST_INTERVAL).min(deadline);
    if verdict.is_some() {
        return DrainNext { calls: Vec::new(), ask: Vec::new(), until, verdict, waits: Vec::new() };
    }
    state.begun = true;
    let force = rules.force_on_timeout
        && (now.moment.plus(rules.forced_for()) >= deadline || view.go.iter().all(|pod| is_stuck(pod, state)));
    let calls = calls(rules, &view, state, force, now.moment);
    DrainNext { calls, ask: unasked(&view, state), until, verdict, waits: waits(rules, &view, state, now) }
}

/// The node's pods, sorted.
struct SortedPods<'a> {
    go: Vec<&'a Pod>,
    /// `namespace/name: why`.
    refused: Vec<PodWait>,
    /// How many stay by the rules' choice and would end with the node's power.
    left: u32,
}

impl<'a> SortedPods<'a> {
    /// What runs no more goes first, then what does not serve: they free their budgets for the others.
    fn of(rules: &DrainRules, pods: &'a [Pod], now: Now) -> Self {
        let mut view = Self { go: Vec::new(), refused: Vec::new(), left: 0 };
        for pod in pods {
            match classify(pod, rules, now.wall) {
                PodDeleteStatus::Go => view.go.push(pod),
                PodDeleteStatus::Stays(_) => view.left += u32::from(ends_with_power(pod)),
                PodDeleteStatus::Refused(why) => view.refused.push(PodWait { pod: pod.at.clone(), why }),
            }
        }
        view.go.sort_by_key(|pod| (!pod.is_finished(), pod.ready, &pod.at));
        view
    }
}

/// As kubectl has it, a pod that may not be deleted ends a drain before anything is evicted. One that comes later (the
/// node is not cordoned, or tolerated) does not stop the others.
fn verdict(rules: &DrainRules, view: &SortedPods<'_>, state: &DrainState, late: bool) -> Option<DrainReport> {
    let refused_at_once = !state.begun && !view.refused.is_empty();
    let nothing_left = view.go.is_empty();
    let all_stuck = !rules.force_on_timeout && view.go.iter().all(|pod| is_stuck(pod, state));
    if !(late || refused_at_once || nothing_left || all_stuck) {
        return None;
    }
    let mut refused_evictions = view.refused.clone();
    let not_asked = |pod: &Pod| refused_at_once && pod.deleting.is_none() && state.tries(&pod.at).is_none();
    refused_evictions.extend(view.go.iter().map(|pod| match not_asked(pod) {
        true => PodWait { pod: pod.at.clone(), why: NOT_ASKED.to_owned() },
        false => wait(pod, state, rules),
    }));
    let done = refused_evictions.is_empty();
    let refused_evictions = refused_evictions.iter().map(ToString::to_string).collect();
    Some(DrainReport { done, refused_evictions: shortened(refused_evictions), left: view.left })
}

/// A pod that no power step may end unless the node is dead: one that still runs, and neither comes back with the node
/// (DaemonSets) nor is the node's own.
#[must_use]
pub fn ends_with_power(pod: &Pod) -> bool {
    let of_the_node = pod.mirror || pod.owner.as_ref().is_some_and(|owner| owner.kind == "DaemonSet" && !owner.gone);
    !of_the_node && !pod.is_finished()
}

fn waits(rules: &DrainRules, view: &SortedPods<'_>, state: &DrainState, now: Now) -> Vec<PodWait> {
    let hangs = |pod: &&&Pod| match pod.deleting {
        Some(deletion) => now.wall > deletion.at,
        None => state.tries(&pod.at).is_some_and(|tries| tries.why.is_some()),
    };
    let hanging = view.go.iter().filter(hangs).map(|pod| wait(pod, state, rules));
    view.refused.iter().cloned().chain(hanging).collect()
}

/// The pods that a drain under way waits for, for a reader that only looks, and whether their budgets matter.
#[must_use]
pub fn awaited<'a>(rules: &DrainRules, pods: &'a [Pod], now: Now) -> Vec<Awaited<'a>> {
    let one = |pod: &'a Pod| match classify(pod, rules, now.wall) {
        PodDeleteStatus::Stays(_) => None,
        PodDeleteStatus::Refused(why) => {
            Some(Awaited { pod, message: format!("stands in the way: {why}"), asks: false })
        }
        PodDeleteStatus::Go => match pod.deleting {
            Some(deletion) => {
                let message = format!("is being deleted, by {}{}", deletion.at, finalizers(pod));
                Some(Awaited { pod, message, asks: false })
            }
            None => {
                let asks = !rules.disable_eviction && pod.phase == "Running";
                Some(Awaited { pod, message: "is to go".to_owned(), asks })
            }
        },
    };
    pods.iter().filter_map(one).collect()
}

/// One pod that a drain waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Awaited<'a> {
    pub pod: &'a Pod,
    message: String,
    /// Its eviction asks the disruption budgets.
    pub asks: bool,
}

impl Awaited<'_> {
    /// A line for people, with the budgets that select it, as far as they are known.
    #[must_use]
    pub fn line(&self, budgets: &[DisruptionBudget]) -> String {
        let message = match budgets {
            [_, _, ..] => format!("several budgets select it, which eviction cannot serve: {}", named(budgets)),
            [one] if allows_nothing(one) => format!("refused by {}", named(budgets)),
            _ => self.message.clone(),
        };
        PodWait { pod: self.pod.at.clone(), why: message }.to_string()
    }
}

fn finalizers(pod: &Pod) -> &'static str {
    if pod.finalizers { "; it has finalizers" } else { "" }
}

fn allows_nothing(budget: &DisruptionBudget) -> bool {
    budget.disruptions_allowed <= 0
}

fn shortened(mut lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(MAX_LINES);
    lines.truncate(MAX_LINES);
    lines.extend((more > 0).then(|| format!("and {more} more")));
    lines
}

fn wait(pod: &Pod, state: &DrainState, rules: &DrainRules) -> PodWait {
    PodWait { pod: pod.at.clone(), why: why(pod, state, rules) }
}

/// It was refused for good and is not being deleted.
fn is_stuck(pod: &Pod, state: &DrainState) -> bool {
    pod.deleting.is_none() && state.tries(&pod.at).is_some_and(|tries| tries.refused)
}

fn why(pod: &Pod, state: &DrainState, rules: &DrainRules) -> String {
    let tries = state.tries(&pod.at);
    if let (Some(deletion), false) = (pod.deleting, tries.is_some_and(|tries| tries.refused_by_budget)) {
        return format!("it should have been gone by {}, the kubelet has not said so{}", deletion.at, finalizers(pod));
    }
    match tries {
        None => match state.held_by {
            Some((pods, window)) => {
                format!("the rate holds it up: {pods} pods may go within {} (spec.pods)", duration::show(window))
            }
            None => format!("there was no time for it within {} s", rules.timeout.as_secs()),
        },
        Some(tries) => format!("{}{}", tries.why.as_deref().unwrap_or("no answer yet"), blocking(tries)),
    }
}

fn blocking(tries: &Tries) -> String {
    let Some(budgets) = tries.budgets.as_ref().filter(|budgets| tries.refused_by_budget && !budgets.is_empty()) else {
        return String::new();
    };
    format!("; {}", named(budgets))
}

/// The budgets that allow nothing; all of them if none reports that now.
fn named(budgets: &[DisruptionBudget]) -> String {
    let tight: Vec<_> = budgets.iter().filter(|budget| allows_nothing(budget)).collect();
    let named: Vec<_> = if tight.is_empty() { budgets.iter().collect() } else { tight };
    let name = |budget: &&DisruptionBudget| {
        let message = Some(&budget.message).filter(|text| !text.is_empty()).map(|text| format!(", {text}"));
        format!(
            "{}/{} (allows {}{})",
            budget.namespace,
            budget.name,
            budget.disruptions_allowed,
            message.unwrap_or_default()
        )
    };
    format!("PodDisruptionBudget {}", named.iter().map(name).collect::<Vec<_>>().join(", "))
}

fn calls(
    rules: &DrainRules,
    view: &SortedPods<'_>,
    state: &mut DrainState,
    force: bool,
    now: Moment,
) -> Vec<PodRemoval> {
    let rate_left = rate_left(state, now);
    state.held_by = state.limits.rate.filter(|_| rate_left == 0);
    let room = state.limits.in_flight.saturating_sub(state.in_flight());
    // One that was tried before has its place in the rate.
    let mut new = 0_usize;
    let has_place = |pod: &&&Pod| {
        let is_new = !state.evicted.contains_key(&pod.at);
        new += usize::from(is_new);
        !is_new || new <= rate_left
    };
    let due = view.go.iter().filter(|pod| is_due(pod, state, force, now)).filter(has_place);
    due.take(room).map(|pod| call(pod, rules, force)).collect()
}

/// Pods that are being deleted already are waited for, unless force is due.
fn is_due(pod: &Pod, state: &DrainState, force: bool, now: Moment) -> bool {
    let Some(tries) = state.tries(&pod.at) else { return force || pod.deleting.is_none() };
    match (tries.in_flight, force) {
        (true, _) => false,
        (false, true) => !tries.forced || tries.next.is_none_or(|next| now >= next),
        (false, false) => !tries.refused && pod.deleting.is_none() && tries.next.is_none_or(|next| now >= next),
    }
}

fn call(pod: &Pod, rules: &DrainRules, force: bool) -> PodRemoval {
    let kind = if force || rules.disable_eviction { RemovalKind::Delete } else { RemovalKind::Evict };
    let grace = if force { Some(forced_grace(pod)) } else { rules.grace };
    PodRemoval { pod: pod.at.clone(), kind, grace, forced: force }
}

/// 0 takes a pod out of the API whether it still runs or not, and its controller starts another. Where two at once
/// would be a disaster (an identity, a volume of one writer) the kubelet still has to report that it is dead: that is
/// what 1 does.
fn forced_grace(pod: &Pod) -> Duration {
    let identity = pod.owner.as_ref().is_some_and(|owner| owner.kind == "StatefulSet");
    let writer = pod.volumes.iter().any(|volume| match volume {
        Volume::Claim(claim) => claim.one_node_only != Some(false),
        _ => false,
    });
    Duration::from_secs(u64::from(identity || writer))
}

fn rate_left(state: &mut DrainState, now: Moment) -> usize {
    let Some((pods, within)) = state.limits.rate else {
        state.evicted.clear();
        return usize::MAX;
    };
    state.evicted.retain(|_, at| now.since(*at) < within);
    pods.saturating_sub(state.evicted.len().saturating_add(state.others))
}

fn unasked(view: &SortedPods<'_>, state: &DrainState) -> Vec<PodRef> {
    let asks =
        |pod: &&&Pod| state.tries(&pod.at).is_some_and(|tries| tries.refused_by_budget && tries.budgets.is_none());
    view.go.iter().filter(asks).map(|pod| pod.at.clone()).collect()
}
