//! What the programs that run in the background have in common: how they start, how they fail, and with which exit code.

use std::{ffi::CString, io::Write, process::ExitCode};

use clap::Parser;
use nix::sys::signal::Signal;
use nodewell_command::{
    exit_code::{CONFIG, SOFTWARE},
    usage,
};
use nodewell_rules::Diagnostic;
use tokio::runtime::Runtime;

/// The program of check processes, of their workers and of repairs.
pub const CHECKS: &str = "nodewell-checks";

/// Also with what the user sees of their own error or question.
pub fn command_line<L: Parser>() -> Result<L, ExitCode> {
    L::try_parse().map_err(|error| usage(&error))
}

/// What runs on one thread, to its end.
pub fn started<E: std::error::Error>(work: impl FnOnce(&Runtime) -> Result<(), E>) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    let outcome = work(&runtime);
    // A thread that a dead disk holds must not hold the exit too.
    runtime.shutdown_background();
    outcome.map_or_else(|fatal| failed(&fatal), |()| ExitCode::SUCCESS)
}

/// Lets this process end with its parent, which started it. False if that is gone already.
#[must_use]
pub fn end_with(parent: i32) -> bool {
    // Started as /proc/self/exe, the kernel calls us `exe`. No argument has a null byte.
    let _ = CString::new(name()).map(|name| nix::sys::prctl::set_name(&name));
    // Only an invalid signal can be refused. It is sent when the thread that started us ends: a thread that lives as long
    // as the parent does.
    let _ = nix::sys::prctl::set_pdeathsig(Signal::SIGKILL);
    nix::unistd::getppid().as_raw() == parent
}

/// Every mistake in the configuration.
#[must_use]
pub fn invalid(diagnostics: &[Diagnostic]) -> ExitCode {
    let mut out = std::io::stderr().lock();
    diagnostics.iter().for_each(|diagnostic| drop(writeln!(out, "{diagnostic}")));
    let count = diagnostics.len();
    let _ = writeln!(out, "{}: {count} error(s) in the configuration; nothing was started", name());
    ExitCode::from(CONFIG)
}

/// What the unit's or the machine's own settings do not allow. Until they are mended another start would end alike.
#[must_use]
pub fn not_allowed(error: &dyn std::error::Error) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "{}: {error}", name());
    ExitCode::from(CONFIG)
}

/// What no one can go on after.
#[must_use]
pub fn failed(error: &dyn std::error::Error) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "{}: {error}", name());
    ExitCode::from(SOFTWARE)
}

/// For a process with credentials in its memory: another one of the same user, such as a program that a person runs as
/// `nodewell`, neither reads nor writes it, takes none of its descriptors and attaches no debugger; and it leaves no core
/// dump. Root may all the same.
pub fn close_memory() {
    if let Err(error) = nix::sys::prctl::set_dumpable(false) {
        tracing::warn!(%error, "other processes of this user may look into this one's memory");
    }
}

/// A closed stdout is no reason to change the answer.
pub fn print(lines: &[String]) {
    let mut out = std::io::stdout().lock();
    lines.iter().for_each(|line| drop(writeln!(out, "{line}")));
}

/// As it was called.
fn name() -> String {
    let path = std::env::args_os().next().unwrap_or_default();
    let name = std::path::Path::new(&path).file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
