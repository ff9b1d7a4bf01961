//! `nodewelld`: the node health agent. Reads its configuration and rules, then runs until it is told to stop.

use std::{io::Write, process::ExitCode};

use clap::Parser;
use nodewell_agent::{
    config::{Config, Flags},
    daemon, logging,
};
use nodewell_rules::{Mistake, RuleSet};

/// `EX_USAGE`, `EX_SOFTWARE`, `EX_CONFIG` of sysexits.h.
const USAGE: u8 = 64;
const SOFTWARE: u8 = 70;
const CONFIG: u8 = 78;

fn main() -> ExitCode {
    let flags = match Flags::try_parse() {
        Ok(flags) => flags,
        Err(error) => {
            let code = if error.use_stderr() { USAGE } else { 0 };
            // A closed stdout is no reason to change the answer.
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    logging::init();
    match settled(&flags) {
        Ok((config, rules)) => run(flags, config, rules),
        Err(mistakes) => {
            let mut out = std::io::stderr().lock();
            mistakes.iter().for_each(|mistake| drop(writeln!(out, "{mistake}")));
            let _ = writeln!(out, "nodewelld: {} mistake(s) in the configuration; nothing was started", mistakes.len());
            ExitCode::from(CONFIG)
        }
    }
}

/// Config and rules, or every mistake of both.
fn settled(flags: &Flags) -> Result<(Config, RuleSet), Vec<Mistake>> {
    let (config, mut mistakes) = match Config::load(flags) {
        Ok(config) => (config, Vec::new()),
        Err(mistakes) => (Config::of_flags(flags), mistakes),
    };
    match daemon::load_rules(&config) {
        Ok(rules) if mistakes.is_empty() => return Ok((config, rules)),
        Ok(_) => {}
        Err(more) => mistakes.extend(more),
    }
    Err(mistakes)
}

fn run(flags: Flags, config: Config, rules: RuleSet) -> ExitCode {
    settle_memory();
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    let outcome = tokio::task::LocalSet::new().block_on(&runtime, daemon::run(flags, config, rules));
    // A thread that a dead disk holds must not hold the exit too.
    runtime.shutdown_background();
    outcome.map_or_else(|fatal| failed(&fatal), |()| ExitCode::SUCCESS)
}

/// One malloc arena before the first thread; and, where we may, no page of ours on a disk that could die.
fn settle_memory() {
    use nodewell_sys::memory::{Locking, lock_memory, one_malloc_arena};
    // Only glibc has arenas.
    let _ = one_malloc_arena();
    // With a limit in force every later mapping past it would fail: then it is better not to lock at all.
    let unlimited = nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_MEMLOCK)
        .is_ok_and(|(soft, _)| soft == nix::libc::RLIM_INFINITY);
    if (unlimited || nix::unistd::geteuid().is_root())
        && let Err(error) = lock_memory(Locking::Touched)
    {
        tracing::warn!(%error, "memory is not locked: a dead root disk could stall the agent");
    }
}

fn failed(error: &dyn std::error::Error) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "nodewelld: {error}");
    ExitCode::from(SOFTWARE)
}
