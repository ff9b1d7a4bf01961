//! Nodes without a record: whether one is opened.

use std::{collections::BTreeMap, time::Duration};

use super::{
    Pass, cause, has_the_say,
    judged::{PredicateCache, PredicateResult},
    orphans,
};
use crate::{
    action::Action,
    api::{
        Meta,
        fence::{Blocker, NodeFence, NodeFenceSpec, NodeFenceStatus},
        policy::Mode,
    },
    facts::Node,
    fence,
    guard::{
        self, Subject,
        reason::{BUSY, DRY_RUN},
        stage::{DisruptionLevel, begins_disruptively, disruption_level},
    },
    message::MessageArgs,
    node_report::NodeReport,
    policy::{Policy, duration::show, step_name},
    time::Moment,
};

/// How the policies judge one node, by their names.
#[derive(Default)]
pub(super) struct PolicyMatches<'a> {
    /// Those that are true of it, with their answers.
    all: Vec<(&'a Policy, PredicateResult)>,
    errors: Vec<(String, String)>,
}

pub(super) fn decide<'a>(pass: &mut Pass<'a>, mut matches: BTreeMap<String, PolicyMatches<'a>>) {
    let snapshot = pass.input.snapshot;
    let orphans = std::mem::take(&mut pass.memory.orphans);
    pass.memory.blocked_events.forget(pass.input.now.moment);
    for (name, node) in &snapshot.nodes {
        if snapshot.fences.contains_key(name) {
            continue;
        }
        let matches = matches.remove(name).unwrap_or_default();
        let node_report = decide_one(pass, name, node, matches);
        if node_report.policy.is_none() && node_report.errors.is_empty() {
            orphans::consider(pass, node, orphans.get(name).copied());
        }
        pass.node_reports.insert(name, node_report);
    }
}

pub(super) fn policy_matches<'a>(pass: &Pass<'a>) -> BTreeMap<String, PolicyMatches<'a>> {
    let mut all: BTreeMap<String, PolicyMatches<'a>> = BTreeMap::new();
    for policy in &pass.input.snapshot.policies {
        let judged = pass.memory.judged.get(&policy.name);
        for (name, answer) in judged.into_iter().flat_map(PredicateCache::true_or_failed) {
            all.entry(name.to_owned()).or_default().add(policy, answer);
        }
    }
    all
}

impl<'a> PolicyMatches<'a> {
    fn add(&mut self, policy: &'a Policy, answer: &PredicateResult) {
        match &answer.result {
            Ok(true) => self.all.push((policy, answer.clone())),
            Ok(false) => {}
            Err(error) => self.errors.push((policy.name.clone(), error.clone())),
        }
    }

    /// The policy that has the say. One that is true by Events alone gives way to any that is not.
    pub(super) fn chosen(&self, is_dead: bool) -> Option<(&'a Policy, &PredicateResult)> {
        let first = || self.all.first().map(|(policy, answer)| (*policy, answer));
        self.chosen_among(is_dead, |_| true).or_else(first)
    }

    /// The same, of those that would be true still, and by more than Events.
    pub(super) fn chosen_among(
        &self,
        is_dead: bool,
        is_true_still: impl Fn(&Policy) -> bool,
    ) -> Option<(&'a Policy, &PredicateResult)> {
        let beyond_events = self.all.iter().filter(|(policy, answer)| !answer.by_events_alone && is_true_still(policy));
        let chosen = has_the_say(beyond_events.map(|(policy, _)| *policy), is_dead)?;
        let (policy, answer) = self.all.iter().find(|(policy, _)| policy.name == chosen.name)?;
        Some((policy, answer))
    }

    /// The first policy that could not judge it: what it would have said is not known.
    pub(super) fn error(&self) -> Option<String> {
        self.errors.first().map(|(policy, error)| format!("policy {policy}: {error}"))
    }

    /// All that could not: policy and error.
    pub(super) fn errors(&self) -> Vec<(String, String)> {
        self.errors.clone()
    }

    /// The others that are true of it.
    fn beside(&self, chosen: &Policy) -> Vec<String> {
        let others = self.all.iter().filter(|(policy, _)| policy.name != chosen.name);
        others.map(|(policy, _)| policy.name.clone()).collect()
    }
}

fn decide_one<'a>(pass: &mut Pass<'a>, name: &'a str, node: &'a Node, matches: PolicyMatches<'a>) -> NodeReport {
    let error = matches.error();
    let is_dead = pass.input.tally.is_dead(name);
    let mut node_report = NodeReport { node: name.to_owned(), ..NodeReport::default() };
    let Some((policy, answer)) = matches.chosen(is_dead) else {
        node_report.errors = matches.errors;
        report_blockers(pass, node, &node_report, |_| String::new());
        return node_report;
    };
    let PredicateResult { since, by_events_alone, .. } = *answer;
    (node_report.also, node_report.errors) = (matches.beside(policy), matches.errors.clone());
    let (unreadable, error) = (None, error.as_deref());
    let subject = Subject { name, node: Some(node), fence: None, policy, unreadable, error, by_events_alone };
    node_report.policy = Some(policy.name.clone());
    node_report.next = policy.steps.first().map(|step| step_name(step).to_owned());
    node_report.blockers = blockers(pass, &subject, since);
    // In a dry run what would be given out counts as well, so that it shows what a run would do.
    if policy.mode == Mode::Enforce && node_report.blockers.iter().all(|blocker| blocker.reason == DRY_RUN) {
        charge(pass, name, policy);
        if node_report.blockers.is_empty() {
            open(pass, Candidate { name, node, policy, since });
        }
    } else if !pass.input.snapshot.busy.contains(name) {
        pass.input.history.revoke(&policy.name, name);
    }
    report_blockers(pass, node, &node_report, |pass| inputs(pass, Candidate { name, node, policy, since }));
    node_report
}

/// What blocks it, if that is news; the inputs are written only then.
fn report_blockers(
    pass: &mut Pass<'_>,
    node: &Node,
    node_report: &NodeReport,
    cause: impl FnOnce(&Pass<'_>) -> String,
) {
    let now = pass.input.now.moment;
    let mut events = std::mem::take(&mut pass.memory.blocked_events);
    let event = events.event_if_new(node, node_report, || cause(pass), now);
    pass.memory.blocked_events = events;
    pass.decision.events.extend(event);
}

/// A node that nothing speaks against.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    name: &'a str,
    node: &'a Node,
    policy: &'a Policy,
    since: Moment,
}

/// Against the first step; later ones are asked for when their time comes.
pub(super) fn blockers(pass: &Pass<'_>, subject: &Subject<'_>, since: Moment) -> Vec<Blocker> {
    let policy = subject.policy;
    let guard_blockers = guard::all_blockers(&pass.input, subject);
    let mut blockers = match policy.steps.first().map_or(DisruptionLevel::Power, disruption_level) {
        DisruptionLevel::Isolate => guard_blockers.isolate,
        DisruptionLevel::Drain => guard_blockers.drain,
        DisruptionLevel::Power => guard_blockers.power,
    };
    let held = pass.input.now.moment.since(since);
    if held < policy.held_for {
        let held = show(Duration::from_secs(held.as_secs()));
        let limit = show(policy.held_for);
        let args: MessageArgs<'_> = &[("policy", &policy.name), ("held", &held), ("limit", &limit)];
        blockers.push(Blocker::of("WithinGracePeriod/policy", args));
    }
    if pass.input.snapshot.busy.contains(subject.name) {
        blockers.push(Blocker::plain(BUSY));
    }
    blockers
}

pub(super) fn charge<'a>(pass: &mut Pass<'a>, name: &'a str, policy: &'a Policy) {
    let level = if begins_disruptively(&policy.steps) { DisruptionLevel::Power } else { DisruptionLevel::Isolate };
    let now = pass.input.now.moment;
    pass.input.tally.charge(name, &policy.name, level);
    pass.input.history.charge(&policy.name, name, "", level, now);
}

fn open(pass: &mut Pass<'_>, candidate: Candidate<'_>) {
    let fence = fence::opened(record(pass, candidate), pass.input.now.wall);
    pass.decision.actions.push(Action::Open(Box::new(fence)));
}

fn record(pass: &Pass<'_>, candidate: Candidate<'_>) -> NodeFence {
    let Candidate { name, node, policy, .. } = candidate;
    NodeFence {
        metadata: Meta { name: name.to_owned(), ..Meta::default() },
        spec: NodeFenceSpec {
            node_name: name.to_owned(),
            node_uid: node.uid.clone(),
            policy: policy.name.clone(),
            cause: inputs(pass, candidate),
            steps: policy.steps.clone(),
            abort: false,
        },
        status: NodeFenceStatus {
            since: Some(pass.input.now.wall),
            epoch: pass.input.snapshot.epoch,
            boot_id: node.boot_id.clone(),
            system_uuid: node.system_uuid.clone(),
            own_changes: orphans::own_changes(node, &policy.name),
            earlier_cycles: pass.input.history.cycles_of(name),
            ..NodeFenceStatus::default()
        },
    }
}

/// The inputs of the decision, in one line.
fn inputs(pass: &Pass<'_>, candidate: Candidate<'_>) -> String {
    let now = pass.input.now.moment;
    let ago = |since: Moment| show(Duration::from_secs(now.since(since).as_secs()));
    let ready = candidate.node.condition("Ready").map_or_else(
        || "no Ready condition".to_owned(),
        |ready| format!("Ready={} ({}) for {}", ready.status, cause::shown(&ready.reason), ago(ready.change_seen_at)),
    );
    let mut parts = cause::asked_for(candidate.policy, candidate.node, ago);
    let lease = pass.input.snapshot.kubelet_leases.get(candidate.name);
    let lease = lease.map_or_else(
        || "no kubelet Lease".to_owned(),
        |lease| format!("kubelet Lease {} old", ago(lease.change_seen_at)),
    );
    parts.extend([ready, lease]);
    format!("spec.when true for {}; {}", ago(candidate.since), parts.join(", "))
}
