//! What the API server reports of a cluster, cut down to what decisions need; 5,000 nodes of it fit into a few MiB.

mod catalogue;
pub mod kubelet;
mod lease;
mod node;
mod pod;

pub use catalogue::CATALOGUE;
pub use lease::LeaseView;
pub use node::{CONTROL_PLANE, Condition, Effect, FENCE_READY, Node, OLD_ZONE, Taint, Truth, ZONE};
pub use pod::{Attachment, Budget, Deletion, Owner, Pod, PodRef, Toleration, Volume, VolumeClaim};
