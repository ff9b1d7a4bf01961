//! Times as the agent, the controller and the command lines have them. No clock: what is now is an argument.

mod backoff;

pub use backoff::{Backoff, doubled, jittered};
