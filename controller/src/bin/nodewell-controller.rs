//! The controller of the control-plane hosts.

use std::process::ExitCode;

fn main() -> ExitCode {
    nodewell_controller::daemon::program()
}
