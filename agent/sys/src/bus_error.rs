//! Bus errors of a thread that reads mapped files: a disk that dies under a mapped journal must not end the process.
//!
//! The kernel answers an unreadable page of a mapped file with SIGBUS. On a guarded thread that page becomes a page of
//! zeros, which libsystemd takes for a damaged file; on any other thread the signal does what it did before.
#![allow(unsafe_code)]

use std::{
    cell::Cell,
    ffi::{c_int, c_void},
    io, mem, ptr,
    sync::OnceLock,
};

/// `BUS_ADRERR` of asm-generic/siginfo.h: beyond the file's end, or the disk did not deliver. Not a memory error.
const BUS_ADRERR: c_int = 2;

/// What SIGBUS did before us.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    static REPLACED: Cell<u64> = const { Cell::new(0) };
}

/// From now on this thread survives unreadable pages.
pub fn guard_this_thread() -> io::Result<()> {
    GUARDED.set(true);
    if BEFORE.get().is_some() {
        return Ok(());
    }
    // SAFETY: all zeros is a valid sigaction; the kernel fills it.
    let mut before: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: only asks.
    if unsafe { libc::sigaction(libc::SIGBUS, ptr::null(), &raw mut before) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // Before the handler can run, so that it always finds it.
    if BEFORE.set(before).is_err() {
        return Ok(());
    }
    install()
}

/// How many pages of this thread were replaced since it asked last.
#[must_use]
pub fn replaced_pages() -> u64 {
    REPLACED.take()
}

fn install() -> io::Result<()> {
    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = on_bus_error;
    // SAFETY: all zeros is a valid sigaction, with an empty mask.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the handler does nothing but what is allowed in one: see there.
    if unsafe { libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// System calls and plain thread-locals only, all async-signal-safe. After it the faulting instruction runs again.
extern "C" fn on_bus_error(_signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: the kernel gives a valid siginfo, whose address is that of the fault.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr()) };
    if GUARDED.get() && code == BUS_ADRERR && replace_page(address) {
        REPLACED.set(REPLACED.get() + 1);
    } else if let Some(before) = BEFORE.get() {
        // SAFETY: puts back what was there; the same fault comes again at once and is theirs.
        unsafe { libc::sigaction(libc::SIGBUS, before, ptr::null_mut()) };
    }
}

fn replace_page(address: *mut c_void) -> bool {
    // SAFETY: asks for a number.
    let Ok(page) = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }) else { return false };
    let start = address.map_addr(|address| address & !(page - 1));
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: the page is one that cannot be read, so no code holds data in it; it lies in a mapping of this thread's
    // reader.
    unsafe { libc::mmap(start, page, libc::PROT_READ, flags, -1, 0) != libc::MAP_FAILED }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, io::Write, os::fd::AsRawFd};

    use super::*;

    #[test]
    fn a_page_that_is_gone_reads_as_zeros() {
        guard_this_thread().unwrap();
        let mut file: File = tempfile::tempfile().unwrap();
        file.write_all(&[7; 8192]).unwrap();
        // SAFETY: a fresh mapping, read within its length only.
        unsafe {
            let map = libc::mmap(ptr::null_mut(), 8192, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0);
            assert_ne!(map, libc::MAP_FAILED);
            let bytes = map.cast::<u8>();
            assert_eq!(ptr::read_volatile(bytes.add(5000)), 7);
            file.set_len(0).unwrap();
            assert_eq!(ptr::read_volatile(bytes.add(5000)), 0);
            assert_eq!(ptr::read_volatile(bytes), 0);
            libc::munmap(map, 8192);
        }
        assert_eq!((replaced_pages(), replaced_pages()), (2, 0));
    }
}
