//! Guards of time: new nodes, rates of nodes and of pods, power cycles of one node.

use std::time::Duration;

use super::{
    EvaluationInput, Subject, budgets, life,
    reason::{KUBELET_LATE, NEW_NODE, POD_RATE, PODS_UNKNOWN, POWER_CYCLE_LIMIT, RATE, SHUTDOWN_ANNOUNCED},
    stage::{DisruptionLevel, has_begun},
};
use crate::{
    api::fence::{Blocker, Phase},
    message::MessageArgs,
    policy::duration::show,
};

/// By the wall clock: nothing else is known of a Node's beginning. One from the future is new.
pub(super) fn new_node(input: &EvaluationInput<'_>, subject: &Subject<'_>) -> Option<Blocker> {
    let (node, grace) = (subject.node?, subject.policy.node_startup_grace_period);
    let age = Duration::try_from(input.now.wall.duration_since(node.created)).unwrap_or_default();
    (age < grace).then(|| {
        let age = show(Duration::from_secs(age.as_secs()));
        Blocker::of(NEW_NODE, &[("age", &age), ("limit", &show(grace))])
    })
}

/// It announced that this boot ends: an orderly reboot has some time, and what has begun goes on.
pub(super) fn shutting_down(input: &EvaluationInput<'_>, subject: &Subject<'_>) -> Option<Blocker> {
    let since = input.snapshot.shutdowns.get(subject.name).filter(|_| subject.node.is_some())?;
    let (elapsed, grace) = (input.now.moment.since(*since), subject.policy.reboot_grace_period);
    (elapsed < grace).then(|| {
        let elapsed = show(Duration::from_secs(elapsed.as_secs()));
        Blocker::of(SHUTDOWN_ANNOUNCED, &[("elapsed", &elapsed), ("limit", &show(grace))])
    })
}

/// Kubelets were out of hearing, and this one may only be late.
pub(super) fn late_kubelet(input: &EvaluationInput<'_>, subject: &Subject<'_>) -> Option<Blocker> {
    let left = life::late_for(input.snapshot, subject.name, input.now.moment)?;
    let key = if left.renews { "KubeletLate/status" } else { KUBELET_LATE };
    Some(Blocker::of(key, &[("left", &show(Duration::from_secs(left.time.as_secs().max(1))))]))
}

/// A node under remediation does not count again.
pub(super) fn rate(input: &EvaluationInput<'_>, subject: &Subject<'_>, level: DisruptionLevel) -> Option<Blocker> {
    if subject.fence.is_some_and(|fence| has_begun(fence, level)) {
        return None;
    }
    let (budget, field) = budgets::of(subject.policy, level);
    let rate = budget.rate?;
    let policy = &subject.policy.name;
    let started = input.history.started_within(policy, level, subject.name, rate.window, input.now.moment);
    (started >= rate.count as usize).then(|| {
        let window = show(rate.window);
        let args: MessageArgs<'_> = &[
            ("policy", policy),
            ("started", &started),
            ("window", &window),
            ("limit", &rate.count),
            ("field", &field),
        ];
        Blocker::of(RATE, args)
    })
}

/// Pods of this node that would be evicted or released now. Of a node that a record remediates they are read, and pods
/// that could not be counted are not none. A node that has more pods than the rate allows is let through while no other
/// node's pods were moved in the window; so that there is such a time, records that were opened after its own wait.
pub(super) fn pods(input: &EvaluationInput<'_>, subject: &Subject<'_>, level: DisruptionLevel) -> Option<Blocker> {
    if level == DisruptionLevel::Isolate {
        return None;
    }
    let (policy, rate) = (subject.policy, subject.policy.pods);
    let moved = input.history.pods(&policy.name, rate, subject.name, input.now.moment);
    let read = input.snapshot.gathered.get(subject.name).and_then(|gathered| gathered.pods.as_ref());
    let here = match (read, subject.fence) {
        (Some((_, pods)), _) => pods.len(),
        // Before there is a record they are not asked for, and to open one moves none.
        (None, None) => 0,
        // A power off that is intended moves none; a list that is late must not leave it in doubt.
        (None, Some(fence)) if fence.status.phase == Phase::PoweringOff => 0,
        (None, Some(_)) => return Some(Blocker::plain(PODS_UNKNOWN)),
    };
    let most = rate.count as usize;
    let window = show(rate.window);
    let full = moved >= most || moved > 0 && moved.saturating_add(here) > most;
    if !full {
        return behind_a_larger(input, subject);
    }
    Some({
        let args: MessageArgs<'_> =
            &[("policy", &policy.name), ("moved", &moved), ("window", &window), ("here", &here), ("limit", &most)];
        Blocker::of(POD_RATE, args)
    })
}

/// A node with more pods than the rate waits for a window of its own. What moved pods in the window goes on.
fn behind_a_larger(input: &EvaluationInput<'_>, subject: &Subject<'_>) -> Option<Blocker> {
    let (policy, rate, fence) = (subject.policy, subject.policy.pods, subject.fence?);
    if input.history.has_moved_pods(&policy.name, rate, subject.name, input.now.moment) {
        return None;
    }
    let (node, pods) = input.tally.waits_with_more_pods(fence, rate.count as usize)?;
    let args: MessageArgs<'_> = &[
        ("policy", &policy.name),
        ("node", &node),
        ("pods", &pods),
        ("limit", &rate.count),
        ("window", &show(rate.window)),
    ];
    Some(Blocker::of("PodRate/larger", args))
}

/// Tries of one power off are one cycle: that which this record has begun does not stand in its own way.
pub(super) fn power_cycles(input: &EvaluationInput<'_>, subject: &Subject<'_>) -> Option<Blocker> {
    let rate = subject.policy.power_cycles;
    let begun = subject.fence.filter(|fence| fence.status.cycle_begun).and_then(|fence| fence.status.cycles.last());
    let cycles = input.history.cycles(subject.name, begun, rate.window, input.now);
    (cycles >= rate.count as usize).then(|| {
        let args: MessageArgs<'_> = &[("cycles", &cycles), ("window", &show(rate.window)), ("limit", &rate.count)];
        Blocker::of(POWER_CYCLE_LIMIT, args)
    })
}
