//! What the policies would do with one node if it failed now: the same decision, on a cache in which it has failed.

use std::time::Duration;

use nodewell_forecast::Remediation;
use nodewell_remediation::{
    api::{
        fence::Blocker,
        policy::{DurationString, StepSpec},
    },
    decide::{self, Memory},
    facts::{Condition, ConditionStatus, Effect, HeartbeatOwner, LeaseView, Node, Taint},
    guard::reason::{IDENTITY_UNPROVEN, WITHIN_GRACE_PERIOD},
    policy::{Policy, selector},
    snapshot::{FenceLevel, FencePlan, Snapshot},
    time::{Moment, Now},
};

/// A failure as old as this has had all the time that evidence takes.
const LONG_AGO: Duration = Duration::from_secs(3600);

/// Nothing if no policy would be true of it. `plan` is how it is fenced, or why it cannot be.
pub(super) fn remediation(
    snapshot: &Snapshot,
    name: &str,
    plan: &Result<FencePlan, Blocker>,
    now: Now,
) -> Option<Remediation> {
    let before = snapshot.nodes.get(name)?;
    let failed = failed(snapshot, before, now.moment);
    let true_of_it = failed.policies.iter().filter(|policy| is_true_of(policy, &failed, name, now));
    let policy = decide::has_the_say(true_of_it, true)?;
    let plan_off = plan.as_ref().ok().filter(|_| cycles(policy).is_some());
    let off = plan_off.and_then(|plan| Some((plan, first_proven(plan)?)));
    let fast = policy.fast.filter(|fast| is_early(policy, snapshot, before, fast.silent_for, now));
    let mut blockers = blockers(failed.clone(), policy, name, now);
    blockers.extend(unfenced(plan, policy));
    blockers.dedup();
    Some(Remediation {
        policy: policy.name.clone(),
        silent_for: fast.map(|fast| fast.silent_for),
        held_for: policy.held_for + first_steps(policy),
        evidence: fast.map(|fast| format!("its BMC reports OFF or {} hosts cannot reach it", fast.unreachable_from)),
        off: off.map(|(_, level)| level.longest),
        storage_only: off.and_then(|(plan, _)| plan.storage_only.clone()),
        blockers,
    })
}

/// The level that would turn it off now.
fn first_proven(plan: &FencePlan) -> Option<&FenceLevel> {
    plan.levels.iter().find(|level| level.identity == Some(Ok(())))
}

/// The cache with this node gone for an hour, and nothing under remediation of it.
fn failed(snapshot: &Snapshot, before: &Node, now: Moment) -> Snapshot {
    let since = ago(now, LONG_AGO);
    let mut node = before.clone();
    node.conditions.retain(|condition| condition.kind != "Ready");
    node.conditions.push(unknown(since));
    for effect in [Effect::NoSchedule, Effect::NoExecute] {
        let key = "node.kubernetes.io/unreachable".to_owned();
        node.taints.push(Taint { key, value: String::new(), effect });
    }
    let mut supposed = silent(snapshot, &node.name, since);
    supposed.fences.remove(&node.name);
    supposed.busy.remove(&node.name);
    supposed.nodes.insert(node.name.clone(), node);
    supposed
}

/// As the node lifecycle controller writes it.
fn unknown(since: Moment) -> Condition {
    Condition {
        kind: "Ready".to_owned(),
        status: ConditionStatus::Unknown,
        reason: "NodeStatusUnknown".to_owned(),
        message: "Kubelet stopped posting node status.".to_owned(),
        since: None,
        heartbeat: None,
        change_seen_at: since,
        is_own_report: false,
        heartbeat_owner: HeartbeatOwner::Other,
    }
}

/// The cache in which its Leases were not renewed since then.
fn silent(snapshot: &Snapshot, node: &str, since: Moment) -> Snapshot {
    let mut supposed = snapshot.clone();
    let none = LeaseView {
        resource_version: String::new(),
        holder: node.to_owned(),
        renewed: None,
        duration: Duration::from_secs(40),
        change_seen_at: since,
    };
    supposed.kubelet_leases.entry(node.to_owned()).or_insert(none).change_seen_at = since;
    if let Some(lease) = supposed.agent_leases.get_mut(node) {
        lease.change_seen_at = since;
    }
    supposed
}

fn is_true_of(policy: &Policy, snapshot: &Snapshot, name: &str, now: Now) -> bool {
    let Some(node) = snapshot.nodes.get(name) else { return false };
    selector::matches(&policy.selector, &node.labels) && policy.when.judge(node, snapshot, now) == Ok(true)
}

/// Whether it is true by the Lease's silence alone, before Ready is Unknown.
fn is_early(policy: &Policy, snapshot: &Snapshot, before: &Node, silence: Duration, now: Now) -> bool {
    // The next look after that much silence. Another policy that is true of it then, or has its record, does not step aside
    // before it is dead.
    let early = silent(snapshot, &before.name, ago(now.moment, silence + Duration::from_secs(1)));
    let is_free = snapshot.fences.get(&before.name).is_none_or(|fence| fence.spec.policy == policy.name);
    let true_of_it = early.policies.iter().filter(|other| is_true_of(other, &early, &before.name, now));
    is_free && decide::has_the_say(true_of_it, false).is_some_and(|first| first.name == policy.name)
}

fn cycles(policy: &Policy) -> Option<&StepSpec> {
    policy.steps.iter().find(|step| step.power_cycle.is_some())
}

/// What the steps before the power cycle may take: a drain of a dead node takes all of its time.
fn first_steps(policy: &Policy) -> Duration {
    let before = policy.steps.iter().take_while(|step| step.power_cycle.is_none());
    let drained = |step: &StepSpec| step.drain.as_ref().map(|drain| span(&drain.timeout)).unwrap_or_default();
    before.map(|step| drained(step) + step.then_wait.as_ref().map(span).unwrap_or_default()).sum()
}

/// The policy is compiled: its spans can be read.
fn span(span: &DurationString) -> Duration {
    span.duration().unwrap_or_default()
}

/// What speaks against the power cycle as things stand; time alone does not.
fn blockers(mut snapshot: Snapshot, policy: &Policy, name: &str, now: Now) -> Vec<String> {
    let mut alone = policy.clone();
    if let Some(cycle) = cycles(policy) {
        // The first step's guards are those that are shown.
        alone.steps = vec![cycle.clone()];
    }
    snapshot.policies = vec![alone];
    let decision = decide::decide(&snapshot, Memory::reconstructed(&snapshot, now), now);
    let node_report = decision.node_reports.into_iter().find(|node_report| node_report.node == name);
    let mut blockers: Vec<String> =
        node_report.into_iter().flat_map(|node_report| node_report.blockers).map(|blocker| blocker.reason).collect();
    blockers.retain(|reason| reason != WITHIN_GRACE_PERIOD);
    blockers
}

/// Why it cannot be turned off, in short.
fn unfenced(plan: &Result<FencePlan, Blocker>, policy: &Policy) -> Option<String> {
    if cycles(policy).is_none() {
        return Some("its policy has no powerCycle".to_owned());
    }
    match plan {
        Err(blocker) => Some(blocker.reason.clone()),
        Ok(plan) if first_proven(plan).is_some() => None,
        Ok(_) => Some(IDENTITY_UNPROVEN.to_owned()),
    }
}

fn ago(now: Moment, span: Duration) -> Moment {
    Moment(now.0.saturating_sub(span))
}

#[cfg(test)]
#[path = "remediation/tests.rs"]
mod tests;
