//! What tests of several crates need: a program to run, a port to listen on. Each has an obvious way that fails now and then
//! on a busy machine.
#![allow(clippy::unwrap_used)]

mod port;
mod program;

pub use port::{free_port, free_ports};
pub use program::write_program;
