//! `nodewelld`: the node health agent, or with `monitor NAME` one of its check processes. It loads its configuration
//! and rules, then runs until it is asked to stop.

use std::{io::Write, process::ExitCode};

use clap::Parser;
use nodewell_agent::{
    check_process::{self, Group, MonitorFlags, Setup, WorkerFlags},
    command::{Command, CommandLine},
    config::{Config, Flags},
    daemon,
    identity::IdentityFlags,
    pstore_collector::{self, PstoreCollectorFlags},
    repair::{self, RepairFlags},
    runtime::activation::Activated,
};
use nodewell_checks::systemd::{DEADLINE, Manager};
use nodewell_client::Client;
use nodewell_rules::{Diagnostic, RuleSet};
use nodewell_sys::memory::{Locking, load_program, lock_memory, one_malloc_arena};
use tokio::{runtime::Runtime, task::LocalSet};

/// `EX_USAGE`, `EX_SOFTWARE`, `EX_CONFIG` of sysexits.h.
const USAGE: u8 = 64;
const SOFTWARE: u8 = 70;
const CONFIG: u8 = 78;

fn main() -> ExitCode {
    // Before anything else opens a descriptor.
    let activated = Activated::take();
    let CommandLine { command, flags } = match CommandLine::try_parse() {
        Ok(line) => line,
        Err(error) => {
            let code = if error.use_stderr() { USAGE } else { 0 };
            // A closed stdout is no reason to change the answer.
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    nodewell_journal::init("nodewelld", "info");
    activated.log_complaints();
    match command {
        Some(Command::Monitor(flags)) => return monitor(*flags),
        Some(Command::Worker(flags)) => return worker(&flags),
        Some(Command::CollectPstore(flags)) => return collect_pstore(&flags),
        Some(Command::Identity(flags)) => {
            close_memory();
            return identity(&flags);
        }
        Some(Command::Repair(flags)) => return repair(flags),
        None if flags.parent.is_some_and(|parent| !check_process::end_with(parent)) => return ExitCode::SUCCESS,
        None => close_memory(),
    }
    match load(&flags) {
        Ok((config, rules)) => run(flags, config, rules, activated),
        Err(diagnostics) => invalid(&diagnostics),
    }
}

fn invalid(diagnostics: &[Diagnostic]) -> ExitCode {
    let mut out = std::io::stderr().lock();
    diagnostics.iter().for_each(|diagnostic| drop(writeln!(out, "{diagnostic}")));
    let _ = writeln!(out, "nodewelld: {} error(s) in the configuration; nothing was started", diagnostics.len());
    ExitCode::from(CONFIG)
}

/// One of the check processes.
fn monitor(flags: MonitorFlags) -> ExitCode {
    if flags.parent.is_some_and(|parent| !check_process::end_with(parent)) {
        return ExitCode::SUCCESS;
    }
    let as_the_agent = flags.as_the_agent();
    let config = match Config::load(&as_the_agent) {
        Ok(config) => config,
        Err(diagnostics) => return invalid(&diagnostics),
    };
    let health_checks = match flags.group {
        Group::Check => check_process::npd_health_checks(&config.plugin_monitors()),
        Group::Disk | Group::Gpu => Vec::new(),
    };
    let setup = Setup {
        group: flags.group,
        releases_of: flags.releases_of,
        client: Client::new(flags.socket.unwrap_or(config.socket.path)),
        settings: config.checks,
        state_dir: flags.state_dir.or_else(check_process::default_state_dir),
        test_flags: flags.test_flags,
        health_checks,
        flags: as_the_agent,
    };
    let _ = one_malloc_arena();
    started(|runtime| LocalSet::new().block_on(runtime, check_process::run(setup)))
}

/// What a check process starts for calls that may never return.
fn worker(flags: &WorkerFlags) -> ExitCode {
    if !check_process::end_with(flags.parent) {
        return ExitCode::SUCCESS;
    }
    let _ = one_malloc_arena();
    let outcome = check_process::worker::run(flags.worker_group, flags.socket.as_deref());
    outcome.map_or_else(|error| failed(&error), |()| ExitCode::SUCCESS)
}

/// The oneshot that copies what the last boot left.
fn collect_pstore(flags: &PstoreCollectorFlags) -> ExitCode {
    match pstore_collector::run(flags) {
        Ok(files) => {
            tracing::info!(files, to = %flags.to.display(), "copied the records of pstore");
            ExitCode::SUCCESS
        }
        Err(error) => failed(&error),
    }
}

/// One look after this node's credentials.
fn identity(flags: &IdentityFlags) -> ExitCode {
    match Config::load(&flags.of_config()) {
        Ok(config) => started(|runtime| runtime.block_on(flags.run(&config))),
        Err(diagnostics) => invalid(&diagnostics),
    }
}

/// The helper that restarts units, or one look at what it would do.
fn repair(flags: RepairFlags) -> ExitCode {
    let config = match Config::load(&Flags { config: flags.config, ..Flags::default() }) {
        Ok(config) => config,
        Err(diagnostics) => return invalid(&diagnostics),
    };
    let setup = repair::Setup {
        settings: config.repair,
        client: Client::new(flags.socket.unwrap_or(config.socket.path)),
        manager: flags.bus.map_or_else(Manager::system, |bus| Manager::at(&bus, DEADLINE)),
        state_dir: flags.state_dir.or_else(check_process::default_state_dir),
        journal: flags.journal,
    };
    let _ = one_malloc_arena();
    if flags.dry_run {
        return started(|runtime| runtime.block_on(repair::plan(&setup)).map(|lines| print(&lines)));
    }
    started(|runtime| LocalSet::new().block_on(runtime, repair::run(setup)))
}

/// A closed stdout is no reason to change the answer.
fn print(lines: &[String]) {
    let mut out = std::io::stdout().lock();
    lines.iter().for_each(|line| drop(writeln!(out, "{line}")));
}

/// Config and rules, or every error of both.
fn load(flags: &Flags) -> Result<(Config, RuleSet), Vec<Diagnostic>> {
    let (config, mut diagnostics) = match Config::load(flags) {
        Ok(config) => (config, Vec::new()),
        Err(diagnostics) => (Config::of_flags(flags), diagnostics),
    };
    match daemon::load_rules(&config) {
        Ok(rules) if diagnostics.is_empty() => return Ok((config, rules)),
        Ok(_) => {}
        Err(more) => diagnostics.extend(more),
    }
    Err(diagnostics)
}

fn run(flags: Flags, config: Config, rules: RuleSet, activated: Activated) -> ExitCode {
    prepare_memory();
    started(|runtime| LocalSet::new().block_on(runtime, daemon::run(flags, config, rules, activated)))
}

/// What runs on one thread, to its end.
fn started<E: std::error::Error>(work: impl FnOnce(&Runtime) -> Result<(), E>) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    let outcome = work(&runtime);
    // A thread that a dead disk holds must not hold the exit too.
    runtime.shutdown_background();
    outcome.map_or_else(|fatal| failed(&fatal), |()| ExitCode::SUCCESS)
}

/// For a process with credentials in its memory: another one of the same user, such as a program that a person runs as
/// `nodewell`, neither reads nor writes it, takes none of its descriptors and attaches no debugger; and it leaves no core
/// dump. Root may all the same.
fn close_memory() {
    if let Err(error) = nix::sys::prctl::set_dumpable(false) {
        tracing::warn!(%error, "other processes of this user may look into the agent's memory");
    }
}

/// One malloc arena before the first thread; and, where we may, no page of ours on a disk that could die.
fn prepare_memory() {
    // Only glibc has arenas.
    let _ = one_malloc_arena();
    // With a limit in force every later mapping past it would fail: then it is better not to lock at all.
    let unlimited = nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_MEMLOCK)
        .is_ok_and(|(soft, _)| soft == nix::libc::RLIM_INFINITY);
    if !unlimited && !nix::unistd::geteuid().is_root() {
        tracing::info!(
            "memory is not locked, because RLIMIT_MEMLOCK is limited: a dead root disk could stall the agent"
        );
    } else if let Err(error) = lock_memory(Locking::Touched).and_then(|()| load_program()) {
        tracing::warn!(%error, "memory is not locked: a dead root disk could stall the agent");
    }
}

fn failed(error: &dyn std::error::Error) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "nodewelld: {error}");
    ExitCode::from(SOFTWARE)
}
