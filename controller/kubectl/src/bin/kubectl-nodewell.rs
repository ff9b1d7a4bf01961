//! kubectl's plug-in: `kubectl nodewell`.

use std::process::ExitCode;

fn main() -> ExitCode {
    nodewell_kubectl::run(std::env::args_os())
}
