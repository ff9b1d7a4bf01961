//! What tests of several crates need: a program to run, a port to listen on, a D-Bus server's end, cargo, fuzzers'
//! corpora. The obvious way to the first two fails now and then on a busy machine.
#![allow(clippy::unwrap_used)]

mod bus;
mod cargo;
mod corpus;
mod port;
mod program;

pub use bus::serve_bus;
pub use cargo::{calling_cargo, cargo};
pub use corpus::replay_corpus;
pub use port::{free_port, free_ports};
pub use program::write_program;
