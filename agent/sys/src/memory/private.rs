//! The program in pages of the process's own, which are of no file.

use std::{
    fs::{self, File, OpenOptions},
    hint::black_box,
    io,
    ops::Range,
    os::unix::fs::FileExt,
    ptr,
    sync::atomic::{AtomicU8, Ordering},
};

use super::{PAGE, readable_file};

/// The way to what this process itself may not write to. Opened before other processes of its user are kept out
/// (`PR_SET_DUMPABLE`): that keeps the process out of this file, too.
#[derive(Debug)]
pub struct OwnMemory(File);

impl OwnMemory {
    pub fn open() -> io::Result<Self> {
        OpenOptions::new().write(true).open("/proc/self/mem").map(Self)
    }
}

/// Copies every page of the program and of the libraries that are loaded by now, in place, so that
/// [`Locking::Touched`](super::Locking::Touched) keeps them: code that runs for the first time while the root disk hangs
/// would wait for its page for ever. Called before data is mapped from files; other threads may run meanwhile.
///
/// To lock the file's own pages is not enough. Where its filesystem has large folios (XFS since Linux 5.18, ext4 since
/// 6.16), the kernel unmaps also locked ones when it splits a folio, as compaction does, and forgets them when it is short
/// of memory (`unmap_folio`, mm/huge_memory.c). It may refuse the copies (`proc_mem.force_override=`, Linux 6.12).
pub fn own_program(memory: &OwnMemory) -> io::Result<()> {
    each_mapping(|line, pages| {
        // A page that the disk cannot give is an error here; where it is touched, it is a signal that ends us.
        populate(pages)?;
        if is_writable(line) {
            copy_writable(pages);
            Ok(())
        } else if is_private(line) {
            copy_constant(&memory.0, pages)
        } else {
            Ok(())
        }
    })
}

/// The second best: reads in every page of their files. A file that cannot be read keeps no other one out.
pub fn load_program() -> io::Result<()> {
    let mut outcome = Ok(());
    each_mapping(|_, pages| {
        let one = populate(pages);
        if outcome.is_ok() {
            outcome = one;
        }
        Ok(())
    })?;
    outcome
}

/// Calls `keep` with each line of `/proc/self/maps` that is of a file which can be read, and its pages.
fn each_mapping(mut keep: impl FnMut(&str, &Range<usize>) -> io::Result<()>) -> io::Result<()> {
    let maps = fs::read_to_string("/proc/self/maps")?;
    maps.lines().try_for_each(|line| readable_file(line).map_or(Ok(()), |pages| keep(line, &pages)))
}

/// The second field of a line of `/proc/self/maps`: `r-xp`.
fn permissions(line: &str) -> &str {
    line.split_ascii_whitespace().nth(1).unwrap_or_default()
}

fn is_private(line: &str) -> bool {
    permissions(line).ends_with('p')
}

/// Whether a write makes a copy of the page.
fn is_writable(line: &str) -> bool {
    permissions(line).starts_with("rw") && is_private(line)
}

/// Other threads may write to these meanwhile: each page is written to in one step, which changes nothing. The compiler
/// leaves out a write of which it knows that.
fn copy_writable(pages: &Range<usize>) {
    for address in pages.clone().step_by(PAGE) {
        // SAFETY: a byte of a writable mapping of the program's own, which nothing unmaps; every access is atomic.
        let byte = unsafe { AtomicU8::from_ptr(ptr::with_exposed_provenance_mut(address)) };
        byte.fetch_or(black_box(0), Ordering::Relaxed);
    }
}

/// A debugger's way: the kernel copies a page that the process itself may not write to, and its permissions stay. What is
/// written is what is there already.
fn copy_constant(memory: &File, pages: &Range<usize>) -> io::Result<()> {
    for address in pages.clone().step_by(PAGE) {
        // SAFETY: a byte of a readable mapping of the program's own, which nothing unmaps.
        let byte = unsafe { ptr::read_volatile(ptr::with_exposed_provenance::<u8>(address)) };
        memory.write_all_at(&[byte], address as u64)?;
    }
    Ok(())
}

/// Reads the file's pages in. Where the kernel does not do it at once (before Linux 5.14) it is asked for each page.
fn populate(pages: &Range<usize>) -> io::Result<()> {
    let start = ptr::with_exposed_provenance_mut(pages.start);
    // SAFETY: a mapping of this process, which this only reads in.
    if unsafe { libc::madvise(start, pages.len(), libc::MADV_POPULATE_READ) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() != Some(libc::EINVAL) {
        return Err(error);
    }
    pages.clone().step_by(PAGE).try_for_each(read_in)
}

/// By the kernel: what the disk cannot give is an error then, and no signal that ends us.
fn read_in(address: usize) -> io::Result<()> {
    let mut byte = 0_u8;
    let to = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let from = libc::iovec { iov_base: ptr::with_exposed_provenance_mut(address), iov_len: 1 };
    // SAFETY: the kernel writes one byte to `byte`, and looks for itself whether the other address can be read.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &raw const to, 1, &raw const from, 1, 0) };
    if read == 1 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{addresses, drop_code_pages, tests::alone};

    /// The values in KiB of `field` of every mapping of this program whose permissions are `may`.
    fn kib_of(may: &str, field: &str) -> Vec<u64> {
        let smaps = fs::read_to_string("/proc/self/smaps").unwrap();
        let mut of_ours = false;
        let mut values = Vec::new();
        for line in smaps.lines() {
            // Also those of memory that has no name: what is behind the program's data is not the program.
            if addresses(line).is_some() {
                of_ours = permissions(line) == may && line.contains("nodewell_sys");
            } else if of_ours && let Some(value) = line.strip_prefix(field) {
                values.push(value.split_ascii_whitespace().next().unwrap().parse().unwrap());
            }
        }
        values
    }

    #[test]
    fn the_whole_program_is_in_pages_of_no_file() {
        alone("memory::private::tests::the_whole_program_is_in_pages_of_no_file", || {
            // Where the kernel refuses there is nothing to show.
            let memory = OwnMemory::open().unwrap();
            if own_program(&memory).is_err() {
                return;
            }
            for may in ["r--p", "r-xp", "rw-p"] {
                let sizes = kib_of(may, "Size:");
                assert!(!sizes.is_empty(), "{may}");
                assert_eq!(kib_of(may, "Anonymous:"), sizes, "{may}");
            }
        });
    }

    /// There is none behind the end of a file either.
    #[test]
    fn a_page_that_cannot_be_read_is_an_error() {
        alone("memory::private::tests::a_page_that_cannot_be_read_is_an_error", || {
            // The list has mappings by their addresses, and the program far behind this one.
            let before = ptr::with_exposed_provenance_mut(0x1000_0000);
            // SAFETY: makes a file without a page.
            let file = unsafe { libc::memfd_create(c"empty".as_ptr(), 0) };
            // SAFETY: a mapping of its own.
            let page = unsafe { libc::mmap(before, PAGE, libc::PROT_READ, libc::MAP_PRIVATE, file, 0) };
            assert_eq!(page, before);
            own_program(&OwnMemory::open().unwrap()).unwrap_err();
            drop_code_pages().unwrap();
            load_program().unwrap_err();
            assert_eq!(read_in(page.expose_provenance()).unwrap_err().raw_os_error(), Some(libc::EFAULT));
            read_in((&raw const file).expose_provenance()).unwrap();
            // What is behind it in the list comes in for all that.
            assert_eq!(kib_of("r-xp", "Rss:"), kib_of("r-xp", "Size:"));
        });
    }

    #[test]
    fn without_copies_the_whole_file_is_read_in() {
        alone("memory::private::tests::without_copies_the_whole_file_is_read_in", || {
            drop_code_pages().unwrap();
            load_program().unwrap();
            assert_eq!(kib_of("r-xp", "Rss:"), kib_of("r-xp", "Size:"));
        });
    }

    #[test]
    fn only_private_mappings_are_copied() {
        let line = |may: &str| format!("7f00-7fff {may} 00001000 fe:00 77   /usr/lib/a lib.so");
        assert!(is_private(&line("r-xp")) && is_private(&line("rw-p")));
        assert!(!is_private(&line("r--s")) && !is_private("7f00-7fff"));
        assert!(is_writable(&line("rw-p")));
        assert!(!is_writable(&line("rw-s")) && !is_writable(&line("r--p")));
    }
}
