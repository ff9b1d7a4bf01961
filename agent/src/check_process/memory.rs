//! What check processes and their workers keep in memory.

use nodewell_checks::WorkerGroup;
use nodewell_sys::memory::{Locking, drop_code_pages, lock_memory, may_lock_all, trim_heap};

/// After the first round: what only the start ran goes, and what rounds run stays, though the root disk be dead and
/// memory short. Code that never ran would still wait for that disk: the whole program would take more memory than
/// checks are worth. A GPU driver's library maps more than ours to lock.
pub(super) fn settle(worker_group: WorkerGroup) {
    // If these fail, what only the start needed stays in memory: not worth a message.
    let _ = drop_code_pages();
    let _ = trim_heap();
    if worker_group == WorkerGroup::Gpu {
        return;
    }
    if !may_lock_all() {
        tracing::debug!("memory is not locked, because RLIMIT_MEMLOCK is limited: a dead root disk could stall checks");
    } else if let Err(error) = lock_memory(Locking::Touched) {
        tracing::debug!(%error, "memory is not locked: a dead root disk could stall checks");
    }
}
