//! What the API server reports of a cluster, cut down to what decisions need; 5,000 nodes of it fit into a few MiB.

mod catalogue;
pub mod kubelet;
mod lease;
mod node;
mod pod;

pub use catalogue::CATALOGUE;
pub use lease::LeaseView;
pub use node::{CONTROL_PLANE, Condition, ConditionStatus, Effect, FENCE_READY, Node, OLD_ZONE, Taint, ZONE};
pub use pod::{Attachment, Deletion, DisruptionBudget, Owner, Pod, PodRef, Toleration, Volume, VolumeClaim};
