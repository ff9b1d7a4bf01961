//! Times as the agent, the controller and the command lines have them. No clock: what is now is an argument.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod age;
mod backoff;
pub mod duration;

pub use age::{age, local};
pub use backoff::{Backoff, doubled, jittered};
