//! A record whose steps leave a dead node's pods where they are gives way to the policy that would have the say without it.

use super::{
    Pass,
    candidates::{self, PolicyMatches},
    judged::PredicateResult,
    records::report_undrained,
};
use crate::{
    api::{
        REMEDIATION_TAINT,
        fence::{Blocker, NodeFence},
        policy::Mode,
    },
    facts::{Node, Taint},
    fence::may_give_way,
    guard::{
        Subject,
        reason::{DRY_RUN, ONLY_ISOLATES},
        stage::frees_pods,
    },
    node_report::NodeReport,
    policy::Policy,
};

/// A policy that frees the pods of a node, and what speaks against its record.
pub(super) struct Heir<'a> {
    policy: &'a Policy,
    blockers: Vec<Blocker>,
}

/// What may come after a record.
pub(super) enum Succession<'a> {
    /// It stays: its node is not dead, or what was done by it is not for another one to take back.
    None,
    /// It would give way, and there is no policy that it could give way to; or one of these, which could not judge the node.
    Missing(Vec<(String, String)>),
    Heir(Heir<'a>),
}

/// What a policy that cannot be read wants of its record by now is not known.
pub(super) fn succession<'a>(
    pass: &Pass<'a>,
    fence: &NodeFence,
    node: &'a Node,
    matches: Option<&PolicyMatches<'a>>,
) -> Succession<'a> {
    let snapshot = pass.input.snapshot;
    let is_unreadable = snapshot.unreadable_policies.contains_key(&fence.spec.policy);
    if !pass.input.tally.is_dead(&node.name) || !may_give_way(fence) || is_unreadable {
        return Succession::None;
    }
    let is_true_still = |policy: &Policy| holds_without_own_taints(pass, fence, node, policy);
    let heir = matches.and_then(|matches| Some((matches, heir(matches, is_true_still)?)));
    let Some((matches, (policy, answer))) = heir else {
        return Succession::Missing(matches.map(PolicyMatches::errors).unwrap_or_default());
    };
    let error = matches.error();
    let subject = Subject {
        name: &node.name,
        node: Some(node),
        fence: None,
        policy,
        unreadable: None,
        error: error.as_deref(),
        by_events_alone: false,
    };
    Succession::Heir(Heir { policy, blockers: candidates::blockers(pass, &subject, answer.since) })
}

fn heir<'m, 'a>(
    matches: &'m PolicyMatches<'a>,
    is_true_still: impl Fn(&Policy) -> bool,
) -> Option<(&'a Policy, &'m PredicateResult)> {
    let (policy, answer) = matches.chosen_among(true, is_true_still)?;
    let may = policy.mode == Mode::Enforce && frees_pods(&policy.steps);
    may.then_some((policy, answer))
}

/// Taints of other keys than ours are taken back before it takes over: a policy that is true by them alone would be true no more,
/// and the record would set them again, for ever.
fn holds_without_own_taints(pass: &Pass<'_>, fence: &NodeFence, node: &Node, policy: &Policy) -> bool {
    let goes = |taint: &Taint| taint.key != REMEDIATION_TAINT && fence.status.own_changes.taints.contains(taint);
    if !node.taints.iter().any(goes) {
        return true;
    }
    let taints = node.taints.iter().filter(|taint| !goes(taint)).cloned().collect();
    policy.when.judge(&Node { taints, ..node.clone() }, pass.input.snapshot, pass.input.now) == Ok(true)
}

impl<'a> Succession<'a> {
    /// The policy whose record could be opened now.
    pub(super) fn ready(&self) -> Option<&'a str> {
        match self {
            Self::Heir(heir) if heir.blockers.is_empty() => Some(&heir.policy.name),
            Self::Heir(_) | Self::None | Self::Missing(_) => None,
        }
    }

    /// What keeps the pods of the dead node from being freed: nothing that its record itself waits for would free them.
    pub(super) fn report(self, pass: &mut Pass<'a>, fence: &'a NodeFence, node_report: &mut NodeReport) {
        match self {
            Self::None => report_undrained(fence, node_report),
            Self::Missing(errors) => {
                let is_new = |error: &(String, String)| !node_report.errors.contains(error);
                let new: Vec<_> = errors.into_iter().filter(is_new).collect();
                node_report.errors.extend(new);
                pass.input.history.revoke_others(None, &fence.spec.node_name);
                let only_isolates = Blocker::of(ONLY_ISOLATES, &[("policy", &fence.spec.policy)]);
                node_report.blockers.insert(0, only_isolates);
            }
            Self::Heir(Heir { policy, blockers }) => {
                if policy.name != fence.spec.policy {
                    node_report.also.push(policy.name.clone());
                }
                pass.input.history.revoke_others(Some(&policy.name), &fence.spec.node_name);
                // From here on no other node gets the slot for which the record gives way.
                if blockers.iter().all(|blocker| blocker.reason == DRY_RUN) {
                    candidates::charge(pass, &fence.spec.node_name, policy);
                } else {
                    pass.input.history.revoke(&policy.name, &fence.spec.node_name);
                }
                node_report.next = Some(format!("give way to {}", policy.name));
                node_report.restored_at = None;
                node_report.blockers = blockers;
            }
        }
    }
}
