//! `nodewelld`: the node health agent. It loads its configuration and rules, then runs until it is asked to stop.

use std::{env, io, process::ExitCode};

use nodewell_agent::{
    command,
    config::{Config, Flags},
    daemon::{self, Opened},
    runtime::{
        activation::Activated,
        open_files,
        program::{close_memory, end_with, failed, invalid, not_allowed, started},
    },
};
use nodewell_rules::{Diagnostic, RuleSet, shipped};
use nodewell_sys::memory::{
    Locking, OwnMemory, drop_relocations, drop_texts, load_program, lock_memory, may_lock_all, one_malloc_arena,
    own_program, trim_heap, trim_stack,
};
use tokio::task::LocalSet;

fn main() -> ExitCode {
    // Before anything is allocated that is given back. Only glibc has arenas.
    let _ = one_malloc_arena();
    // Before anything else opens a descriptor.
    let activated = Activated::take();
    let flags = match command::read(env::args_os().skip(1)) {
        Ok(flags) => flags,
        Err(instead) => return instead.print(),
    };
    nodewell_journal::init("nodewelld", "info");
    activated.log_complaints();
    if flags.parent.is_some_and(|parent| !end_with(parent)) {
        return ExitCode::SUCCESS;
    }
    let own_memory = OwnMemory::open();
    close_memory();
    match load(&flags) {
        Ok((config, rules)) => run(flags, config, rules, activated, own_memory),
        Err(diagnostics) => invalid(&diagnostics),
    }
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

fn run(
    flags: Flags,
    config: Config,
    rules: RuleSet,
    activated: Activated,
    own_memory: io::Result<OwnMemory>,
) -> ExitCode {
    if let Err(too_few) = open_files::allow(config.socket.limits.connections) {
        return not_allowed(&too_few);
    }
    // The disk works while memory is prepared.
    let store = match daemon::open_store(&config) {
        Ok(store) => store,
        Err(fatal) => return failed(&fatal),
    };
    prepare_memory(own_memory);
    let opened = Opened { activated, store };
    started(|runtime| LocalSet::new().block_on(runtime, daemon::run(flags, config, rules, opened)))
}

/// Locked, because all of memory is.
fn keep_program(own_memory: io::Result<OwnMemory>) -> io::Result<()> {
    own_memory.and_then(|memory| own_program(&memory)).or_else(|error| {
        tracing::info!(
            %error,
            "the program is locked as its file is: where that has large folios, a dead root disk could stall the agent"
        );
        load_program()
    })
}

/// Where we may, no page of ours on a disk that could die.
fn prepare_memory(own_memory: io::Result<OwnMemory>) {
    // What configuration and rules needed while they were read would be locked too. Where that fails it stays.
    let _ = trim_heap();
    let _ = trim_stack();
    if !may_lock_all() {
        tracing::info!(
            "memory is not locked, because RLIMIT_MEMLOCK is limited: a dead root disk could stall the agent"
        );
    } else if let Err(error) = lock_memory(Locking::Touched).and_then(|()| keep_program(own_memory)) {
        tracing::warn!(%error, "memory is not locked: a dead root disk could stall the agent");
    } else if let Err(error) = drop_relocations().and_then(|()| drop_texts(shipped::texts())) {
        tracing::debug!(%error, "what only the start has read stays in memory");
    }
}
