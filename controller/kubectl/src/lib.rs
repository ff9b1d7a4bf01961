//! `kubectl nodewell`: what is wrong with the nodes of a cluster, and what the controller does about it, from the API
//! server alone.
//!
//! The path of the data: [`read`] asks the API server by [`access`] → [`facts`], its objects cut down → [`view`], what
//! is shown, as data → [`text`], or JSON and YAML of the view. Only the first two know that there is a server: the
//! others take values and return values, and the time is an argument.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod access;
mod cli;
mod error;
mod facts;
#[cfg(test)]
mod golden;
mod read;
mod text;
mod view;

pub use cli::{command, run};
