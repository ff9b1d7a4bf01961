//! The process's own memory: kept in RAM, because a page of ours that lies on a dying disk would stall us; and few arenas.
#![allow(unsafe_code)]

mod heap;
mod libraries;
mod private;
mod relocations;
mod segments;
mod stack;
mod unneeded;

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader},
    ops::Range,
    ptr,
};

pub use heap::{one_malloc_arena, trim_heap};
pub use libraries::drop_libraries;
pub use private::{OwnMemory, load_program, own_program};
pub use relocations::drop_relocations;
pub use stack::trim_stack;
pub use unneeded::drop_texts;

use crate::proc::Status;
use unneeded::whole_pages;

/// The smallest page that Linux has.
const PAGE: usize = 4096;
/// Of linux/capability.h.
const CAP_IPC_LOCK: u32 = 14;

/// How much is kept in RAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locking {
    /// Every page once it was touched: costs nothing beforehand (`MCL_ONFAULT`, Linux 4.4).
    Touched,
    /// Everything mapped now and later, read in at once: mapped journal files, too.
    Everything,
}

/// Whether memory that is mapped later may be locked as well: with a limit in force every mapping past it would fail.
#[must_use]
pub fn may_lock_all() -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes one rlimit into ours.
    let is_known = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) } == 0;
    is_known && limit.rlim_cur == libc::RLIM_INFINITY || has_capability(CAP_IPC_LOCK)
}

/// Root's processes need not have it.
fn has_capability(number: u32) -> bool {
    let status = fs::read("/proc/self/status").unwrap_or_default();
    Status::of(&status).mask("CapEff").is_some_and(|effective| effective >> number & 1 == 1)
}

/// Keeps this process's memory in RAM (`mlockall(2)`). Without `CAP_IPC_LOCK` the kernel allows `RLIMIT_MEMLOCK`
/// bytes and answers ENOMEM or EPERM; the caller goes on without.
pub fn lock_memory(locking: Locking) -> io::Result<()> {
    let flags = libc::MCL_CURRENT | libc::MCL_FUTURE;
    let flags = if locking == Locking::Touched { flags | libc::MCL_ONFAULT } else { flags };
    // SAFETY: takes flags only and changes no memory's content.
    if unsafe { libc::mlockall(flags) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The lines of `/proc/self/maps`, one after the other: there may be thousands, and the heap is not to grow by them.
fn each_line(mut what: impl FnMut(&str)) -> io::Result<()> {
    BufReader::new(File::open("/proc/self/maps")?).lines().try_for_each(|line| line.map(|line| what(&line)))
}

/// Where the mapping is that the kernel calls `name`.
fn named(name: &str) -> io::Result<Option<Range<usize>>> {
    let mut found = None;
    each_line(|line| {
        if line.ends_with(name) {
            found = addresses(line);
        }
    })?;
    Ok(found)
}

/// The addresses that a line of `/proc/self/maps` is about.
fn addresses(line: &str) -> Option<Range<usize>> {
    let (from, to) = line.split_ascii_whitespace().next()?.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    Some(address(from)?..address(to)?)
}

/// The same, if they hold a file and can be read.
fn readable_file(line: &str) -> Option<Range<usize>> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let (may, mut rest) = (fields.next()?, fields.skip(2));
    let is_file = rest.next()? != "0";
    addresses(line).filter(|_| is_file && may.starts_with('r'))
}

/// Unmaps the code that was read in so far, of the program and its libraries: what is needed again is mapped again from
/// the page cache, 64 KiB around it. A start runs much that no later round needs. Not while another thread
/// unloads a library.
pub fn drop_code_pages() -> io::Result<()> {
    let maps = fs::read_to_string("/proc/self/maps")?;
    maps.lines().filter(|line| is_code(line)).filter_map(readable_file).try_for_each(|pages| drop_pages(&pages))
}

/// The same of the program's constants, its table of relocations among them.
pub fn drop_constants() -> io::Result<()> {
    let pages = segments::constants().iter().map(whole_pages).collect::<io::Result<Vec<_>>>()?;
    pages.iter().filter(|pages| !pages.is_empty()).try_for_each(drop_pages)
}

/// Whether the line of `/proc/self/maps` is of code. Everything else may have been written to before it was made
/// read-only (relocations), and would be lost.
fn is_code(line: &str) -> bool {
    line.split_ascii_whitespace().nth(1) == Some("r-xp")
}

fn drop_pages(pages: &Range<usize>) -> io::Result<()> {
    let start = ptr::with_exposed_provenance_mut(pages.start);
    // SAFETY: pages of a file that nothing can have written to since they were mapped, which come back as they were, or
    // memory that nothing reads again.
    if unsafe { libc::madvise(start, pages.len(), libc::MADV_DONTNEED) } == 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        // Locked memory stays.
        error if error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
        error => Err(error),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    #[test]
    fn memory_is_locked_or_the_kernel_reports_why_not() {
        match lock_memory(Locking::Touched) {
            Ok(()) => {
                // SAFETY: undoes the above, so that the other tests of this process are not charged for it.
                assert_eq!(unsafe { libc::munlockall() }, 0);
            }
            Err(error) => assert!(matches!(error.raw_os_error(), Some(libc::ENOMEM | libc::EPERM)), "{error}"),
        }
    }

    #[test]
    fn code_whose_pages_were_dropped_runs_again() {
        alone("memory::tests::code_whose_pages_were_dropped_runs_again", || drop_code_pages().unwrap());
    }

    /// How many bytes of the mapping that has `address` are in memory.
    pub(super) fn resident_at(address: usize) -> usize {
        let smaps = fs::read_to_string("/proc/self/smaps").unwrap();
        let mut of = smaps.lines().skip_while(|line| !addresses(line).is_some_and(|pages| pages.contains(&address)));
        let kib = |line: &str| line.strip_prefix("Rss:")?.split_ascii_whitespace().next()?.parse::<usize>().ok();
        of.find_map(kib).unwrap() * 1024
    }

    /// In a process of its own: a library that another test unloads meanwhile would leave its addresses to other code.
    pub(super) fn alone(test: &str, what: fn()) {
        const ALONE: &str = "NODEWELL_TEST_ALONE";
        if std::env::var_os(ALONE).is_some() {
            what();
            return;
        }
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        // Tests run on a thread, which would have an arena of its own.
        child.env("GLIBC_TUNABLES", "glibc.malloc.arena_max=1");
        let outcome = child.args(["--exact", test]).env(ALONE, "1").output().unwrap();
        let said = String::from_utf8_lossy(&outcome.stdout);
        assert!(outcome.status.success() && said.contains("1 passed"), "{said}");
    }

    #[test]
    fn constants_are_dropped_and_still_there() {
        alone("memory::tests::constants_are_dropped_and_still_there", constants);
    }

    fn constants() {
        static TEXT: &str = include_str!("memory.rs");
        load_program().unwrap();
        let (start, copy) = (TEXT.as_ptr().expose_provenance(), TEXT.to_owned());
        let before = resident_at(start);
        drop_constants().unwrap();
        assert!(resident_at(start) < before, "{} of {before}", resident_at(start));
        assert_eq!(TEXT, copy);
    }

    #[test]
    fn code_is_known_by_its_line() {
        assert_eq!(readable_file("7f00-7fff r-xp 00001000 fe:00 77   /usr/lib/a lib.so"), Some(0x7f00..0x7fff));
        assert!(is_code("7f00-7fff r-xp 00001000 fe:00 77   /usr/lib/a lib.so"));
        assert!(!is_code("7f00-7fff r--p 00001000 fe:00 77   /usr/lib/a lib.so"));
        assert!(!is_code("7f00-7fff rwxp 00001000 fe:00 77   /usr/lib/a lib.so"));
    }

    #[test]
    fn only_files_that_can_be_read_are_read_in() {
        let line = |may: &str, inode: &str| format!("7f00-7fff {may} 00001000 fe:00 {inode}   /usr/lib/a lib.so");
        assert_eq!(readable_file(&line("r-xp", "77")), Some(0x7f00..0x7fff));
        assert_eq!(readable_file(&line("---p", "77")), None);
        assert_eq!(readable_file(&line("rw-p", "0")), None);
        assert_eq!(readable_file("7f00-7fff"), None);
    }
}
