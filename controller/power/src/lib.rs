//! Power over nodes: fence agents and plug-ins as processes, and what they need to know.
//!
//! The path of an act: [`native::NativePower`] reads a node's ConfigMaps and Secret and checks them → [`agent::Agents`]
//! makes the options → [`runner::Runner`] starts a [`supervisor`], which starts the agent and ends it with all that it
//! started when its time, or the leader's, is over → the exit status is what is believed, and `status` afterwards.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod agent;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod identity;
pub mod kdump;
pub mod native;
pub mod program;
pub mod provider;
pub mod runner;
pub mod scrub;
pub mod supervisor;
