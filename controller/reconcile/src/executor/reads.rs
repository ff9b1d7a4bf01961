//! Reads of single objects, past the cache. One that returns an older object than the cache has known shows that the
//! store went back: what we believe is of another store, and would be in conflict with this one for ever.

use nodewell_remediation::{
    api::fence::NodeFence,
    facts::{LeaseView, Node},
};

use super::Executor;
use crate::{
    api_error::ApiError,
    cache::Source,
    cluster::{LeaseKind, Nodes, Records},
};

impl<C: Records, P> Executor<'_, C, P> {
    pub(super) async fn read_fence(&self, name: &str) -> Result<Option<NodeFence>, ApiError> {
        let mark = self.cache.mark(Source::Fences, name);
        let read = self.cluster.fence(name).await?;
        if let Some(fence) = &read {
            self.cache.compare(&mark, &fence.metadata.uid, &fence.metadata.resource_version);
        }
        Ok(read)
    }
}

impl<C: Nodes, P> Executor<'_, C, P> {
    pub(super) async fn read_node(&self, name: &str) -> Result<Option<Node>, ApiError> {
        let mark = self.cache.mark(Source::Nodes, name);
        let read = self.cluster.node(name).await?;
        if let Some(node) = &read {
            self.cache.compare(&mark, &node.uid, &node.resource_version);
        }
        Ok(read)
    }

    pub(super) async fn read_lease(&self, node: &str) -> Result<Option<LeaseView>, ApiError> {
        let mark = self.cache.mark(Source::KubeletLeases, node);
        let read = self.cluster.lease(LeaseKind::Kubelet, node).await?;
        if let Some(lease) = &read {
            self.cache.compare(&mark, "", &lease.resource_version);
        }
        Ok(read)
    }
}
