//! What check processes and their workers keep in memory.

use std::thread::Builder;

use nodewell_checks::WorkerGroup;
use nodewell_rules::shipped;
use nodewell_sys::memory::{
    Locking, drop_code_pages, drop_constants, drop_relocations, drop_texts, load_program, lock_memory, may_lock_all,
    trim_heap, trim_stack,
};

const STACK_BYTES: usize = 128 * 1024;

/// Before the first round: what only the start ran goes, and what rounds run stays from then on, though the root disk be
/// dead and memory short. A GPU driver's library maps more than ours to lock.
pub(super) fn lock_rounds(worker_group: WorkerGroup) {
    // If this fails, what only the start ran and read stays in memory: not worth a message.
    let _ = drop_code_pages();
    let _ = drop_constants();
    let _ = trim_stack();
    if worker_group == WorkerGroup::Gpu {
        return;
    }
    if !may_lock_all() {
        tracing::debug!("memory is not locked, because RLIMIT_MEMLOCK is limited: a dead root disk could stall checks");
    } else if let Err(error) = lock_memory(Locking::Touched) {
        tracing::debug!(%error, "memory is not locked: a dead root disk could stall checks");
    }
}

/// Once memory is locked: all of the program and its libraries comes and stays. A fault that was never there before
/// runs code that never ran before, and may be one of the very disk which that code is on. One process does it for all
/// that run this program, their workers too: a file is in memory once. A thread reads it, because that disk may be
/// dying already: no round waits for it.
pub(super) fn keep_program() {
    if !may_lock_all() {
        return;
    }
    if let Err(error) = Builder::new().name("keep-program".to_owned()).stack_size(STACK_BYTES).spawn(load) {
        tracing::debug!(%error, "the program is not kept in memory, for want of a thread");
    }
}

fn load() {
    if let Err(error) = load_program() {
        tracing::warn!(%error, "not all of the program is in memory: a dead root disk could stall checks");
    }
    // Only the start reads these. If this fails, they stay in memory: not worth a message.
    let _ = drop_relocations();
    let _ = drop_texts(shipped::texts());
}

/// After the first round of all, which needed more than a later one does.
pub(super) fn trim() {
    // If this fails, what was freed stays in memory: not worth a message.
    let _ = trim_heap();
}

/// After rule files were read. Where those that packages install were compared with the ones in this program, all of
/// these are in memory, and locked.
pub(super) fn forget_rules() {
    // As above.
    let _ = drop_texts(shipped::texts());
    trim();
}
