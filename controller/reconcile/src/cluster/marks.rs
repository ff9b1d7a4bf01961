//! What we put on a Node: taints, cordons, Events.

use std::future::Future;

use nodewell_remediation::{
    action::EventDraft,
    facts::{Node, Taint},
};

use super::Nodes;
use crate::api_error::ApiError;

/// What a Node bears from right before its pods are released.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReleaseMark {
    /// The taint by which Kubernetes deletes the node's pods.
    OutOfService(Taint),
    /// The node is cut off one storage: the boot whose pods of that storage are released
    /// ([`nodewell_remediation::api::STORAGE_RELEASED`]).
    StorageOf(String),
}

/// Marks on the Node with this UID.
pub trait Marks: Nodes {
    /// Adds the taint. False if one with this key and effect is there that has another value: it belongs to another
    /// client. Compare-and-swap inside.
    fn taint(&self, node: &str, uid: &str, taint: &Taint) -> impl Future<Output = Result<bool, ApiError>>;
    /// Takes it away. False if one with this key and effect is there that has another value, and stays.
    fn untaint(&self, node: &str, uid: &str, taint: &Taint) -> impl Future<Output = Result<bool, ApiError>>;
    /// Makes it unschedulable with our mark `by`. False if another client did before.
    fn cordon(&self, node: &str, uid: &str, by: &str) -> impl Future<Output = Result<bool, ApiError>>;
    /// The same for a schedulable Node as the watch saw it, on condition that it is still that version: one request where
    /// [`cordon`](Self::cordon) makes two. With the Node as it is stored now, if that became known on the way.
    fn cordon_seen(&self, seen: &Node, by: &str) -> impl Future<Output = Result<(bool, Option<Node>), ApiError>> {
        async { Ok((self.cordon(&seen.name, &seen.uid, by).await?, self.node(&seen.name).await.ok().flatten())) }
    }
    /// Only if it carries our mark. False if it does not, or if a person has cordoned it again: their cordon stays. The
    /// mark goes in any case.
    fn uncordon(&self, node: &str, uid: &str, by: &str) -> impl Future<Output = Result<bool, ApiError>>;
    /// Marks this Node for a release, on condition that it is still the version that was seen: nothing lies between the last
    /// look and this. One that bears the mark already, or has another's out-of-service taint, stays as it is.
    /// [`ApiError::Conflict`] if it has changed.
    fn mark_release(&self, seen: &Node, mark: &ReleaseMark) -> impl Future<Output = Result<(), ApiError>>;
    /// Takes [`ReleaseMark::StorageOf`] away, whatever boot it names.
    fn unmark_release(&self, node: &str, uid: &str) -> impl Future<Output = Result<(), ApiError>>;
    /// An Event. A failure to emit it never stops an act; implementations try for a while and give up.
    fn emit(&self, node: &str, uid: &str, event: &EventDraft) -> impl Future<Output = ()>;
}
