//! `make cluster`: a cluster for a person to look at, to break, and to see mended.

#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used)]

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
