//! The command line: what people and scripts ask of the agent on this machine.

use std::process::ExitCode;

fn main() -> ExitCode {
    nodewell_agent::cli::run(std::env::args_os())
}
