//! What the command lines of all programs have in common: exit codes, what wrong usage prints, and text as a terminal can
//! show it.

pub mod exit_code;
mod look;

use std::process::ExitCode;

pub use look::{Paint, columns, one_line, split_at_column, wants_colours};

/// Prints clap's message; help and version are no errors.
pub fn usage(error: &clap::Error) -> ExitCode {
    // A closed stdout is no reason to change the answer.
    let _ = error.print();
    ExitCode::from(if error.use_stderr() { exit_code::USAGE } else { 0 })
}
