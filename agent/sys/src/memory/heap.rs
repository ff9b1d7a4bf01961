//! What malloc holds.

#[cfg(target_env = "gnu")]
use std::fs;

#[cfg(target_env = "gnu")]
use super::{Locking, lock_memory};

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

/// Gives back what was freed, also where memory is locked: pages that are locked cannot be given back.
pub fn trim_heap() {
    #[cfg(target_env = "gnu")]
    {
        let is_locked = fs::read_to_string("/proc/self/status").is_ok_and(|status| locked_kib(&status) > 0);
        if is_locked {
            // SAFETY: changes no memory's content. No page is lost before the lock comes back.
            unsafe { libc::munlockall() };
        }
        // SAFETY: works on malloc's own state, under its own lock.
        unsafe { libc::malloc_trim(0) };
        if is_locked {
            // It was allowed a moment ago.
            let _ = lock_memory(Locking::Touched);
        }
    }
}

/// `VmLck` of `/proc/self/status`.
#[cfg(target_env = "gnu")]
fn locked_kib(status: &str) -> u64 {
    let locked = status.lines().find_map(|line| line.strip_prefix("VmLck:"));
    locked.and_then(|rest| rest.split_ascii_whitespace().next()?.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_env = "gnu")]
    use crate::memory::{PAGE, tests::alone};

    #[test]
    #[cfg(target_env = "gnu")]
    fn freed_memory_is_given_back() {
        alone("memory::heap::tests::freed_memory_is_given_back", || {
            let resident = || {
                let statm = fs::read_to_string("/proc/self/statm").unwrap();
                statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * PAGE
            };
            // Each below the size that malloc maps by itself, and one above them all, so that the top is not free.
            let blocks: Vec<Vec<u8>> = (0..1000).map(|_| vec![1; 16 << 10]).collect();
            let last = std::hint::black_box(vec![1_u8; 100]);
            let before = resident();
            drop(blocks);
            trim_heap();
            assert!(resident() + (12 << 20) < before, "{} of {before}", resident());
            drop(last);
        });
    }

    #[test]
    #[cfg(target_env = "gnu")]
    fn the_lock_is_read_from_the_status() {
        assert_eq!(locked_kib("VmSize:\t    3000 kB\nVmLck:\t    2048 kB\n"), 2048);
        assert_eq!(locked_kib("VmSize:\t    3000 kB\n"), 0);
    }

    #[test]
    fn glibc_takes_the_number_of_arenas() {
        assert_eq!(one_malloc_arena(), cfg!(target_env = "gnu"));
    }
}
