//! What malloc holds.

use std::io;
#[cfg(target_env = "gnu")]
use std::{fs, ops::Range, ptr};

#[cfg(target_env = "gnu")]
use super::named;
#[cfg(target_env = "gnu")]
use crate::proc::Status;

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

/// Gives back what was freed, also where memory is locked: pages that are locked cannot be given back, so the heap, and
/// nothing else, is unlocked for a moment. It is in RAM alone, or in swap.
pub fn trim_heap() -> io::Result<()> {
    #[cfg(target_env = "gnu")]
    {
        let is_locked = is_locked(&fs::read("/proc/self/status")?);
        if is_locked && let Some(heap) = heap()? {
            // SAFETY: changes no memory's content.
            check(unsafe { libc::munlock(start_of(&heap), heap.len()) })?;
        }
        // SAFETY: works on malloc's own state, under its own lock.
        unsafe { libc::malloc_trim(0) };
        if is_locked && let Some(heap) = heap()? {
            // SAFETY: changes no memory's content.
            check(unsafe { libc::mlock2(start_of(&heap), heap.len(), libc::MLOCK_ONFAULT) })?;
        }
    }
    Ok(())
}

/// Where the only arena is.
#[cfg(target_env = "gnu")]
fn heap() -> io::Result<Option<Range<usize>>> {
    named("[heap]")
}

#[cfg(target_env = "gnu")]
fn start_of(pages: &Range<usize>) -> *const libc::c_void {
    ptr::with_exposed_provenance(pages.start)
}

#[cfg(target_env = "gnu")]
fn check(answer: libc::c_int) -> io::Result<()> {
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether this text of `/proc/self/status` shows any memory as locked.
#[cfg(target_env = "gnu")]
fn is_locked(status: &[u8]) -> bool {
    Status::of(status).kib("VmLck").is_some_and(|kib| kib > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_env = "gnu")]
    use crate::memory::{PAGE, tests::alone};

    #[cfg(target_env = "gnu")]
    fn resident() -> usize {
        let statm = fs::read_to_string("/proc/self/statm").unwrap();
        statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * PAGE
    }

    #[cfg(target_env = "gnu")]
    fn assert_given_back() {
        // 16 MiB, each block below the size that malloc maps by itself.
        let mut blocks: Vec<Vec<u8>> = std::hint::black_box((0..1000).map(|_| vec![1; 16 << 10]).collect());
        // What is freed is not the heap's end, which malloc gives back by itself.
        let last = blocks.pop();
        let before = resident();
        drop(blocks);
        trim_heap().unwrap();
        assert!(resident() + (12 << 20) < before, "{} of {before}", resident());
        drop(last);
    }

    #[test]
    #[cfg(target_env = "gnu")]
    fn freed_memory_is_given_back() {
        alone("memory::heap::tests::freed_memory_is_given_back", || {
            assert_given_back();
        });
    }

    #[test]
    #[cfg(target_env = "gnu")]
    fn locked_memory_is_given_back_and_the_heap_stays_locked() {
        alone("memory::heap::tests::locked_memory_is_given_back_and_the_heap_stays_locked", || {
            // Where memory may not be locked there is nothing to show.
            if crate::memory::lock_memory(crate::memory::Locking::Touched).is_err() {
                return;
            }
            assert_given_back();
            let heap = heap().unwrap().unwrap();
            let smaps = fs::read_to_string("/proc/self/smaps").unwrap();
            let mut of = smaps.lines().skip_while(|line| !line.ends_with("[heap]"));
            assert!(of.next().unwrap().starts_with(&format!("{:x}-", heap.start)));
            let flags = of.find(|line| line.starts_with("VmFlags:")).unwrap();
            assert!(flags.split_ascii_whitespace().any(|flag| flag == "lo"), "{flags}");
        });
    }

    #[test]
    #[cfg(target_env = "gnu")]
    fn the_lock_is_read_from_the_status() {
        assert!(is_locked(b"VmSize:\t    3000 kB\nVmLck:\t    2048 kB\n"));
        assert!(!is_locked(b"VmSize:\t    3000 kB\nVmLck:\t       0 kB\n"));
        assert!(!is_locked(b"VmSize:\t    3000 kB\n"));
    }

    #[test]
    fn glibc_takes_the_number_of_arenas() {
        assert_eq!(one_malloc_arena(), cfg!(target_env = "gnu"));
    }
}
