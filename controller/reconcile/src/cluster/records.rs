//! NodeFences, and the claim on a node that comes before one.

use std::future::Future;

use nodewell_remediation::api::fence::NodeFence;

use crate::api_error::ApiError;

/// Records, by compare-and-swap only.
pub trait Records {
    fn fence(&self, name: &str) -> impl Future<Output = Result<Option<NodeFence>, ApiError>>;
    /// Takes the node's Lease, which shows other remediators that it is under remediation, or renews ours. Another's is
    /// a [`ApiError::Conflict`] that names it. Only asked where such Leases are in use.
    fn claim(&self, node: &str, uid: &str) -> impl Future<Output = Result<(), ApiError>> {
        let _ = (node, uid);
        std::future::ready(Ok(()))
    }
    fn open(&self, fence: &NodeFence) -> impl Future<Output = Result<NodeFence, ApiError>>;
    /// Replaces `status` if the record still has this resourceVersion and UID.
    fn save(&self, fence: &NodeFence) -> impl Future<Output = Result<NodeFence, ApiError>>;
    /// Deletes it, under the same condition.
    fn close(&self, fence: &NodeFence) -> impl Future<Output = Result<(), ApiError>>;
}
