//! What each of the three control loops (conditions, Events, the Lease) runs on: one connection and what is known of
//! the Node, when a loop that failed tries again, and how it is.

mod health;
mod jitter;
mod retry;
mod shared;

pub use retry::RetryPolicy;
pub use shared::Notice;

pub(super) use health::ControlLoop;
pub(super) use jitter::Jitter;
pub(super) use retry::{Attempt, Retry};
pub(super) use shared::Shared;
