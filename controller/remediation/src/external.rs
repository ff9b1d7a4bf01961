//! Other remediators as customers: what a request of theirs (`NodeFenceRemediation`) asks the leader to do, and what it is
//! shown of the record that serves it.
//!
//! **medik8s.** What node-healthcheck-operator does, by its sources of July 2026 (`medik8s/node-healthcheck-operator`):
//! - `internal/controller/resources/manager.go` copies `spec.template.spec` of the template into `spec` of the request,
//!   names it like the node, or by `generateName` where the template carries the annotation
//!   `remediation.medik8s.io/multiple-templates-support`, and writes the node's name into the annotation
//!   `remediation.medik8s.io/node-name` either way. Its owner is the `NodeHealthCheck`. Before it is made the node's Lease
//!   is taken ([`customer`]).
//! - `internal/controller/nodehealthcheck_controller.go` reads the condition `Succeeded`: False has the annotation
//!   `remediation.medik8s.io/nhc-timed-out` set and the next template tried at once. True keeps that annotation away,
//!   which is else set when the template's time is over. Neither is read where the template has no time of its own
//!   (`remediationTemplate`). `PermanentNodeDeletionExpected` is read of requests whose Node is gone. It deletes a request
//!   once its node is healthy, and counts the node as unhealthy until the request's finalizers are gone.
//! - `pkg/conditions/conditions.go` of `medik8s/common` has the names of the conditions, `Processing` among them.
//!
//! **Cluster API** (`kubernetes-sigs/cluster-api`): `core/reconcilers/machinehealthcheck/machinehealthcheck_controller.go`
//! makes a request from `spec.template`, named like its Machine and in the Machine's namespace, with the Machine as owner,
//! and deletes it once the Machine is healthy. It reads nothing of it: both are all the signals there are
//! (`docs/proposals/20191030-machine-health-checking.md`). Which Node a Machine is stands in [`machine`].
//!
//! `Succeeded` is True only when Off was confirmed, the pods were released *and* the machine is back, or left off as asked:
//! a request that has succeeded is not sent its time-out any more, and could not be stopped while its machine is turned on.

pub mod customer;
pub mod machine;
pub mod next;
pub mod progress;
pub mod record;
pub mod request;
#[cfg(test)]
mod tests;

use crate::{
    api::{
        fence::{Blocker, NodeFence},
        request::REQUESTED_BY,
    },
    guard,
    snapshot::Snapshot,
};

/// What keeps any record from being opened now: no lead, a dry run, the kill switch, watches that are not complete.
#[must_use]
pub fn general_blockers(snapshot: &Snapshot) -> Vec<Blocker> {
    guard::general(snapshot)
}

/// The UID of the request that a record was opened for; nothing of a policy's or a person's record.
#[must_use]
pub fn request_uid(fence: &NodeFence) -> Option<&str> {
    let mut parts = fence.metadata.annotations.get(REQUESTED_BY)?.rsplit('/');
    parts.next().filter(|uid| !uid.is_empty())
}
