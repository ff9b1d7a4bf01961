//! Messages as data: each is a template with named arguments, in a catalogue that also makes the table of the
//! reference.
//!
//! A template reads `/var/lib is {percent} % full (limit {limit} %): free space`. The program gives the arguments; the
//! catalogue gives the words, so that every message can be listed, checked and looked up.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod catalogue;
mod check;
mod template;

pub use catalogue::{Catalogue, Entry, Reasons};
pub use check::text_diagnostics;
pub use template::{EVENT_LIMIT, LIMIT, MessageArgs, Template};
