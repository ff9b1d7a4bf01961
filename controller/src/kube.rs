//! A real API server under the reconcilers: [`KubeCluster`] implements their trait `Cluster` by plain requests.

mod answer;
pub mod claims;
mod cluster;
mod conditions;
pub mod convert;
mod counted;
pub mod ended;
mod events;
pub(crate) mod fences;
mod leases;
mod nodes;
mod pods;
mod reach;
mod requests;
mod stack;
mod switch;
mod wire;

pub use cluster::{KubeCluster, KubeSettings};
pub use conditions::AgentConditions;
pub use counted::{Asked, Requests};
pub use requests::SigningRequests;
pub use stack::{ConnectError, client, connect};
pub use switch::PAUSE_CONFIG_MAP;
pub use wire::{Manager, Wire, escaped};

/// The writer's name in `managedFields` and Events.
pub const FIELD_MANAGER: &str = nodewell_remediation::api::CONTROLLER_FIELD_MANAGER;
/// Where kubelets store their Leases (KEP-589).
pub const KUBELET_LEASES: &str = "kube-node-lease";

/// An answer that is no success, for the fuzzer.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn error_of(code: u16, body: &[u8]) -> nodewell_reconcile::api_error::ApiError {
    answer::judge(answer::ErrorResponse { code, retry_after: None, body })
}
