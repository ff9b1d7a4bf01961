//! `nodewell-checks`: what the agent does beside its core, in processes with privileges of their own.

use std::{io, path::Path, process::ExitCode};

use nodewell_agent::{
    check_process::{self, ChecksCommand, ChecksCommandLine, Group, RunFlags, Setup, WorkerFlags},
    config::{Config, Flags},
    repair::{self, RepairFlags},
    runtime::program::{command_line, end_with, failed, invalid, print, started},
};
use nodewell_checks::{
    disk::megaraid::node::{Made, make},
    plugin::undivide_after_main_process,
    probe::Roots,
    systemd::{DEADLINE, Manager},
};
use nodewell_client::Client;
use nodewell_sys::memory::one_malloc_arena;
use tokio::task::LocalSet;

fn main() -> ExitCode {
    let command = match command_line() {
        Ok(ChecksCommandLine { command }) => command,
        Err(code) => return code,
    };
    nodewell_journal::init("nodewell-checks", "info");
    // Only glibc has arenas.
    let _ = one_malloc_arena();
    match command {
        ChecksCommand::Run(flags) => run(*flags),
        ChecksCommand::Worker(flags) => worker(&flags),
        ChecksCommand::SystemStops { bus } => system_stops(&bus),
        ChecksCommand::RaidNode => raid_node(),
        ChecksCommand::UndivideCgroup => {
            undivide_after_main_process(Path::new("/proc"));
            ExitCode::SUCCESS
        }
        ChecksCommand::Repair(flags) => repair(flags),
    }
}

/// One of the check processes.
fn run(flags: RunFlags) -> ExitCode {
    if flags.parent.is_some_and(|parent| !end_with(parent)) {
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
    started(|runtime| LocalSet::new().block_on(runtime, check_process::run(setup)))
}

/// What a check process starts for calls that may never return.
fn worker(flags: &WorkerFlags) -> ExitCode {
    if !end_with(flags.parent) {
        return ExitCode::SUCCESS;
    }
    let outcome = check_process::worker::run(flags.worker_group, flags.socket.as_deref());
    outcome.map_or_else(|error| failed(&error), |()| ExitCode::SUCCESS)
}

/// For the agent that is stopped.
fn system_stops(bus: &str) -> ExitCode {
    let answer = |stops| print(&[if stops { "yes" } else { "no" }.to_owned()]);
    started(|runtime| runtime.block_on(check_process::system_stops(bus)).map(answer))
}

/// Before the disks' process, which has neither the right to make devices nor the folder to make them in.
fn raid_node() -> ExitCode {
    match make(&Roots::default()) {
        Ok(Made::NoDriver | Made::WasThere) => ExitCode::SUCCESS,
        Ok(Made::Made) => {
            tracing::info!("made the device through which RAID cards are asked");
            ExitCode::SUCCESS
        }
        Err(error) => failed(&io::Error::other(format!("no device through which RAID cards are asked: {error}"))),
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
    if flags.dry_run {
        return started(|runtime| runtime.block_on(repair::plan(&setup)).map(|lines| print(&lines)));
    }
    started(|runtime| LocalSet::new().block_on(runtime, repair::run(setup)))
}
