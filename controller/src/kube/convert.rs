//! The API server's objects, cut down to what decisions need. Pure; the time is an argument.

mod event;
mod lease;
mod managers;
mod node;
mod pod;
mod selector;

pub use event::event;
pub use lease::{leadership, leadership_body, lease_view};
pub use node::{UnreadableNode, node};
pub use pod::{Claims, attachment, budget, claims_of, pod};
pub use selector::selects;
