//! The process's own memory: kept in RAM, because a page of ours that lies on a dying disk would stall us; and few arenas.
#![allow(unsafe_code)]

use std::io;

/// How much is kept in RAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locking {
    /// Every page once it was touched: costs nothing beforehand (`MCL_ONFAULT`, Linux 4.4).
    Touched,
    /// Everything mapped now and later, read in at once: mapped journal files, too.
    Everything,
}

/// Keeps this process's memory in RAM (`mlockall(2)`). Without `CAP_IPC_LOCK` the kernel allows `RLIMIT_MEMLOCK`
/// bytes and answers ENOMEM or EPERM; the caller goes on without.
pub fn lock_memory(locking: Locking) -> io::Result<()> {
    let flags = libc::MCL_CURRENT | libc::MCL_FUTURE;
    let flags = if locking == Locking::Touched { flags | libc::MCL_ONFAULT } else { flags };
    // SAFETY: takes flags only and changes no memory's content.
    if unsafe { libc::mlockall(flags) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// One malloc arena for all threads: glibc's default of eight a core keeps megabytes that a few quiet threads never
/// need. Call it before the first thread. False where malloc is not glibc's.
#[must_use]
pub fn one_malloc_arena() -> bool {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: sets a number inside malloc, under its own lock.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) == 1 }
    }
    #[cfg(not(target_env = "gnu"))]
    {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_locked_or_the_kernel_says_why_not() {
        match lock_memory(Locking::Touched) {
            Ok(()) => {
                // SAFETY: undoes the above, so that the other tests of this process are not charged for it.
                assert_eq!(unsafe { libc::munlockall() }, 0);
            }
            Err(error) => assert!(matches!(error.raw_os_error(), Some(libc::ENOMEM | libc::EPERM)), "{error}"),
        }
    }

    #[test]
    fn glibc_takes_the_number_of_arenas() {
        assert_eq!(one_malloc_arena(), cfg!(target_env = "gnu"));
    }
}
