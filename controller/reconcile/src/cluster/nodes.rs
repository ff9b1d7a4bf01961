//! Nodes and the Leases that show whether they live.

use std::future::Future;

use nodewell_remediation::facts::{LeaseView, Node};

use crate::api_error::ApiError;

/// Which of a Node's Leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LeaseKind {
    /// `kube-node-lease`.
    Kubelet,
    /// `nodewell`.
    Agent,
}

/// What is known of nodes.
pub trait Nodes {
    fn node(&self, name: &str) -> impl Future<Output = Result<Option<Node>, ApiError>>;
    fn lease(&self, kind: LeaseKind, node: &str) -> impl Future<Output = Result<Option<LeaseView>, ApiError>>;
}
