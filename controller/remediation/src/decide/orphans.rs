//! Own changes without a record: a taint of the controller, its cordon (annotation `nodewell.dev/cordoned-by`), or a storage that
//! it cut off (`nodewell.dev/storage-released`), on a node whose record a person deleted, or was lost. Where no policy is true of the node, and it is alive, a record is
//! opened again, which only takes them back.

use super::Pass;
use crate::{
    action::Action,
    api::{
        self, CORDONED_BY, Meta, OUT_OF_SERVICE, OUT_OF_SERVICE_BY, REMEDIATION_TAINT, STORAGE_RELEASED,
        fence::{NodeFence, NodeFenceSpec, NodeFenceStatus, OwnChanges},
        policy::StepSpec,
    },
    facts::{Node, Taint, kubelet},
    policy::{Policy, selector},
    time::Moment,
};

/// The cause of a record that only takes own changes back.
pub const ORPHANED: &str =
    "the Node has taints, a cordon or a cut storage of nodewell and had no record; they are taken back";

/// The own changes that a record of `policy` has to take back. A cordon is of the policy that the annotation names; the
/// annotation alone is no cordon.
pub(super) fn own_changes(node: &Node, policy: &str) -> OwnChanges {
    let cordon = node.unschedulable && cordoned_by(node).is_some_and(|by| by == policy);
    OwnChanges { cordon, taints: node.taints.iter().filter(|taint| is_ours(taint)).cloned().collect() }
}

/// A person who uncordons by hand leaves the annotation behind. It is removed as well: a cordon that a person sets later
/// would look like the controller's.
fn cordoned_by(node: &Node) -> Option<&str> {
    node.annotations.get(CORDONED_BY).map(String::as_str)
}

fn is_ours(taint: &Taint) -> bool {
    taint.key == REMEDIATION_TAINT || taint.key == OUT_OF_SERVICE && taint.value == OUT_OF_SERVICE_BY
}

/// For a node that no policy is true of, and that all could judge. `since` is when the decision before this one first saw
/// it so. A node that is off, or silent, is left as it is: the own changes keep pods away from it.
pub(super) fn consider(pass: &mut Pass<'_>, node: &Node, since: Option<Moment>) {
    let is_marked = [CORDONED_BY, STORAGE_RELEASED].into_iter().any(|mark| node.annotations.contains_key(mark));
    let has_own_changes = is_marked || node.taints.iter().any(is_ours);
    if !has_own_changes || !is_alive(pass, node) || is_blocked(pass, node) {
        return;
    }
    let now = pass.input.now.moment;
    let since = since.unwrap_or(now);
    pass.memory.orphans.insert(node.name.clone(), since);
    let owning_policy = owning_policy(&pass.input.snapshot.policies, node);
    let span = owning_policy.map_or_else(|| Policy::default().healthy_delay, |policy| policy.healthy_delay);
    if now.since(since) < span {
        return pass.requeue_at(since.plus(span));
    }
    let fence = record(pass, node, owning_policy);
    pass.decision.actions.push(Action::Open(Box::new(fence)));
}

/// Ready, and its Lease is renewed: the boot that was to end is over, or never was to.
fn is_alive(pass: &Pass<'_>, node: &Node) -> bool {
    let lease = pass.input.snapshot.kubelet_leases.get(&node.name);
    node.is_ready() && lease.is_some_and(|lease| lease.stale_for(pass.input.now.moment) < kubelet::ALIVE_WITHIN)
}

/// What a policy that cannot be read wanted of it is not known.
fn is_blocked(pass: &Pass<'_>, node: &Node) -> bool {
    let snapshot = pass.input.snapshot;
    let unreadable = match cordoned_by(node) {
        Some(by) => snapshot.unreadable_policies.contains_key(by),
        // A taint does not name its policy: it may be any of those.
        None => !snapshot.unreadable_policies.is_empty(),
    };
    let skipped = node.annotations.contains_key(api::SKIP_REMEDIATION) || snapshot.busy.contains(&node.name);
    unreadable || skipped || pass.may_not_act()
}

/// The policy that made these changes; of several that set such taints the first.
fn owning_policy<'a>(policies: &'a [Policy], node: &Node) -> Option<&'a Policy> {
    if let Some(by) = cordoned_by(node) {
        return policies.iter().find(|policy| policy.name == by);
    }
    let sets = |step: &StepSpec| node.taints.iter().filter(|taint| is_ours(taint)).any(|taint| sets(step, taint));
    policies.iter().find(|policy| selector::matches(&policy.selector, &node.labels) && policy.steps.iter().any(sets))
}

fn sets(step: &StepSpec, taint: &Taint) -> bool {
    let key = |step: &api::policy::TaintStep| step.key.as_deref().unwrap_or(REMEDIATION_TAINT) == taint.key;
    step.taint.as_ref().is_some_and(key) || taint.key == OUT_OF_SERVICE && step.power_cycle.is_some()
}

/// Where the policy is gone the record is aborted from the start: nothing is begun by it, and no policy is asked.
fn record(pass: &Pass<'_>, node: &Node, owning_policy: Option<&Policy>) -> NodeFence {
    let policy =
        owning_policy.map(|policy| policy.name.as_str()).or_else(|| cordoned_by(node)).unwrap_or_default().to_owned();
    NodeFence {
        metadata: Meta { name: node.name.clone(), ..Meta::default() },
        status: NodeFenceStatus {
            since: Some(pass.input.now.wall),
            epoch: pass.input.snapshot.epoch,
            boot_id: node.boot_id.clone(),
            system_uuid: node.system_uuid.clone(),
            own_changes: own_changes(node, &policy),
            earlier_cycles: pass.input.history.cycles_of(&node.name),
            ..NodeFenceStatus::default()
        },
        spec: NodeFenceSpec {
            node_name: node.name.clone(),
            node_uid: node.uid.clone(),
            cause: ORPHANED.into(),
            steps: owning_policy.map(|policy| policy.steps.clone()).unwrap_or_default(),
            abort: owning_policy.is_none(),
            policy,
        },
    }
}
