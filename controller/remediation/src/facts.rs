//! What the API server reports of a cluster, cut down to what decisions need; 5,000 nodes of it fit into a few MiB.

mod agent_condition_types;
pub mod kubelet;
mod lease;
mod node;
mod pod;

pub use agent_condition_types::AGENT_CONDITION_TYPES;
pub use lease::LeaseView;
pub use node::{
    CONTROL_PLANE, Condition, ConditionStatus, Effect, FENCE_READY, HeartbeatOwner, Node, OLD_ZONE, READS_OFF, Taint,
    ZONE,
};
pub use pod::{Attachment, Deletion, DisruptionBudget, Owner, Pod, PodRef, Toleration, Volume, VolumeClaim};
