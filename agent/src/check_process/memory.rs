//! What check processes and their workers keep in memory.

use nodewell_checks::WorkerGroup;
use nodewell_rules::shipped;
use nodewell_sys::memory::{
    Locking, drop_code_pages, drop_constants, drop_texts, lock_memory, may_lock_all, trim_heap, trim_stack,
};

/// Before the first round: what only the start ran goes, and what rounds run stays from then on, though the root disk be
/// dead and memory short. Code that never ran would still wait for that disk: the whole program would take more memory
/// than checks are worth. A GPU driver's library maps more than ours to lock.
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
