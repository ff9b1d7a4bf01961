//! The systemd journal through libsystemd (`sd-journal(3)`): one reader, positioned and moved by its owner.
#![allow(unsafe_code)]

mod library;

use std::{
    ffi::{CStr, CString, c_char, c_int},
    os::{fd::BorrowedFd, unix::ffi::OsStrExt},
    path::Path,
    ptr,
    sync::Arc,
    time::Duration,
};

use nix::errno::Errno;

use self::library::Handle;
pub use self::library::JournalLibrary;

/// `SD_JOURNAL_LOCAL_ONLY | SD_JOURNAL_SYSTEM`: this machine's services and kernel, no user's own journal.
const LOCAL_SYSTEM: c_int = 1 | 4;

/// What failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    #[error("cannot load {library}: {reason}")]
    Library { library: String, reason: String },
    #[error("{library} has no {symbol}; it takes systemd 239 or newer")]
    Symbol { library: String, symbol: &'static str },
    #[error("{call}: {errno}")]
    Call { call: &'static str, errno: Errno },
}

impl JournalError {
    /// The error number, where libsystemd gave one.
    #[must_use]
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Self::Call { errno, .. } => Some(*errno),
            _ => None,
        }
    }
}

/// What [`Journal::process`] saw happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Nothing,
    /// There are new entries at the end.
    Appended,
    /// Files came or went (rotation, vacuum).
    Files,
}

/// An open journal. Before the first [`Journal::step`] it stands at no entry.
#[derive(Debug)]
pub struct Journal {
    library: Arc<JournalLibrary>,
    handle: ptr::NonNull<Handle>,
}

// SAFETY: an sd_journal may be used by any thread, by one at a time ("thread-agnostic", sd-journal(3)); every method
// that calls into it takes `&mut self`, so a shared reference can do nothing.
unsafe impl Send for Journal {}

impl Journal {
    /// Opens the system's journal. It succeeds without a journal, too, and then has no entries.
    pub fn open(library: Arc<JournalLibrary>) -> Result<Self, JournalError> {
        let mut handle = ptr::null_mut();
        // SAFETY: writes the new object to `handle`.
        let code = unsafe { (library.symbols.sd_journal_open)(&raw mut handle, LOCAL_SYSTEM) };
        Self::opened(library, handle, "sd_journal_open", code)
    }

    /// Opens the journal files of a directory.
    pub fn open_directory(library: Arc<JournalLibrary>, path: &Path) -> Result<Self, JournalError> {
        let call = "sd_journal_open_directory";
        let path = c_string(path.as_os_str().as_bytes(), call)?;
        let mut handle = ptr::null_mut();
        // SAFETY: `path` ends with a NUL; writes the new object to `handle`.
        let code = unsafe { (library.symbols.sd_journal_open_directory)(&raw mut handle, path.as_ptr(), 0) };
        Self::opened(library, handle, call, code)
    }

    fn opened(
        library: Arc<JournalLibrary>,
        handle: *mut Handle,
        call: &'static str,
        code: c_int,
    ) -> Result<Self, JournalError> {
        checked(call, code)?;
        let handle = ptr::NonNull::new(handle).ok_or(JournalError::Call { call, errno: Errno::EINVAL })?;
        Ok(Self { library, handle })
    }

    /// The most of one field that is unpacked, in bytes.
    pub fn set_data_threshold(&mut self, bytes: usize) -> Result<(), JournalError> {
        // SAFETY: the handle is open.
        let code = unsafe { (self.library.symbols.sd_journal_set_data_threshold)(self.handle.as_ptr(), bytes) };
        checked("sd_journal_set_data_threshold", code).map(drop)
    }

    /// Only entries with this field and value. Two fields mean both, unless a [`Journal::add_disjunction`] stands between.
    pub fn add_match(&mut self, field: &str, value: &str) -> Result<(), JournalError> {
        let term = format!("{field}={value}");
        // SAFETY: libsystemd copies the bytes.
        let code = unsafe {
            (self.library.symbols.sd_journal_add_match)(self.handle.as_ptr(), term.as_ptr().cast(), term.len())
        };
        checked("sd_journal_add_match", code).map(drop)
    }

    /// Or: what is matched next is an alternative.
    pub fn add_disjunction(&mut self) -> Result<(), JournalError> {
        self.plain("sd_journal_add_disjunction", self.library.symbols.sd_journal_add_disjunction).map(drop)
    }

    /// Before the first entry.
    pub fn seek_head(&mut self) -> Result<(), JournalError> {
        self.plain("sd_journal_seek_head", self.library.symbols.sd_journal_seek_head).map(drop)
    }

    /// Behind the last entry; only a step back is defined from there.
    pub fn seek_tail(&mut self) -> Result<(), JournalError> {
        self.plain("sd_journal_seek_tail", self.library.symbols.sd_journal_seek_tail).map(drop)
    }

    /// So that the next step is on the entry of `cursor`, or on the one that follows if it is gone.
    pub fn seek_cursor(&mut self, cursor: &str) -> Result<(), JournalError> {
        self.with_cursor("sd_journal_seek_cursor", self.library.symbols.sd_journal_seek_cursor, cursor).map(drop)
    }

    /// So that the next step is on the first entry at or after `since_epoch_usec`.
    pub fn seek_realtime(&mut self, since_epoch_usec: u64) -> Result<(), JournalError> {
        // SAFETY: the handle is open.
        let code =
            unsafe { (self.library.symbols.sd_journal_seek_realtime_usec)(self.handle.as_ptr(), since_epoch_usec) };
        checked("sd_journal_seek_realtime_usec", code).map(drop)
    }

    /// To the next entry; false if there is none yet.
    pub fn step(&mut self) -> Result<bool, JournalError> {
        self.plain("sd_journal_next", self.library.symbols.sd_journal_next).map(|code| code > 0)
    }

    /// To the entry before; false if there is none.
    pub fn step_back(&mut self) -> Result<bool, JournalError> {
        self.plain("sd_journal_previous", self.library.symbols.sd_journal_previous).map(|code| code > 0)
    }

    /// When journald took this entry, in microseconds since 1970.
    pub fn realtime_usec(&mut self) -> Result<u64, JournalError> {
        let mut usec = 0;
        // SAFETY: writes one number.
        let code = unsafe { (self.library.symbols.sd_journal_get_realtime_usec)(self.handle.as_ptr(), &raw mut usec) };
        checked("sd_journal_get_realtime_usec", code).map(|_| usec)
    }

    /// When journald took this entry, in microseconds since boot without suspend, and that boot's id.
    pub fn monotonic_usec(&mut self) -> Result<(u64, [u8; 16]), JournalError> {
        let (mut usec, mut boot) = (0, [0; 16]);
        // SAFETY: writes one number and one sd_id128_t, 16 bytes.
        let code = unsafe {
            (self.library.symbols.sd_journal_get_monotonic_usec)(self.handle.as_ptr(), &raw mut usec, &raw mut boot)
        };
        checked("sd_journal_get_monotonic_usec", code).map(|_| (usec, boot))
    }

    /// The value of `field` in this entry, good until the next call; `None` if it has no such field.
    pub fn data(&mut self, field: &str) -> Result<Option<&[u8]>, JournalError> {
        let call = "sd_journal_get_data";
        let name = c_string(field.as_bytes(), call)?;
        let (mut data, mut length) = (ptr::null(), 0);
        // SAFETY: `name` ends with a NUL; writes a pointer and a length.
        let code = unsafe {
            (self.library.symbols.sd_journal_get_data)(
                self.handle.as_ptr(),
                name.as_ptr(),
                &raw mut data,
                &raw mut length,
            )
        };
        match checked(call, code) {
            Err(JournalError::Call { errno: Errno::ENOENT, .. }) => return Ok(None),
            other => other?,
        };
        if data.is_null() {
            return Ok(None);
        }
        // SAFETY: libsystemd's `FIELD=value`, which it keeps until the next call; that one takes `&mut self`.
        let whole = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length) };
        Ok(whole.get(field.len() + 1..))
    }

    /// This entry's cursor: opaque, and good after a restart.
    pub fn cursor(&mut self) -> Result<String, JournalError> {
        let call = "sd_journal_get_cursor";
        let mut text: *mut c_char = ptr::null_mut();
        // SAFETY: writes a pointer to a new string.
        let code = unsafe { (self.library.symbols.sd_journal_get_cursor)(self.handle.as_ptr(), &raw mut text) };
        checked(call, code)?;
        if text.is_null() {
            return Err(JournalError::Call { call, errno: Errno::EINVAL });
        }
        // SAFETY: a NUL-terminated string from malloc, ours to free, and used no more after that.
        unsafe {
            let cursor = CStr::from_ptr(text).to_string_lossy().into_owned();
            libc::free(text.cast());
            Ok(cursor)
        }
    }

    /// Whether this entry is the one of `cursor`.
    pub fn is_at(&mut self, cursor: &str) -> Result<bool, JournalError> {
        let code = self.with_cursor("sd_journal_test_cursor", self.library.symbols.sd_journal_test_cursor, cursor)?;
        Ok(code > 0)
    }

    /// Readable when [`Journal::process`] has something to do. Ask before reading, or what is written meanwhile is not
    /// reported.
    pub fn fd(&mut self) -> Result<BorrowedFd<'_>, JournalError> {
        let code = self.plain("sd_journal_get_fd", self.library.symbols.sd_journal_get_fd)?;
        // SAFETY: the journal's own descriptor, open until `self` is dropped.
        Ok(unsafe { BorrowedFd::borrow_raw(code) })
    }

    /// When to call [`Journal::process`] even if the descriptor is silent (network filesystems), on
    /// `CLOCK_MONOTONIC`; `None`: never.
    pub fn deadline(&mut self) -> Result<Option<Duration>, JournalError> {
        let mut usec = 0;
        // SAFETY: writes one number.
        let code = unsafe { (self.library.symbols.sd_journal_get_timeout)(self.handle.as_ptr(), &raw mut usec) };
        checked("sd_journal_get_timeout", code)?;
        Ok((usec != u64::MAX).then(|| Duration::from_micros(usec)))
    }

    /// Takes note of what happened to the files.
    pub fn process(&mut self) -> Result<Change, JournalError> {
        let code = self.plain("sd_journal_process", self.library.symbols.sd_journal_process)?;
        Ok(match code {
            0 => Change::Nothing,
            1 => Change::Appended,
            _ => Change::Files,
        })
    }

    fn plain(
        &self,
        call: &'static str,
        function: unsafe extern "C" fn(*mut Handle) -> c_int,
    ) -> Result<c_int, JournalError> {
        // SAFETY: the handle is open; private, and called from `&mut self` methods only.
        checked(call, unsafe { function(self.handle.as_ptr()) })
    }

    fn with_cursor(
        &self,
        call: &'static str,
        function: unsafe extern "C" fn(*mut Handle, *const c_char) -> c_int,
        cursor: &str,
    ) -> Result<c_int, JournalError> {
        let cursor = c_string(cursor.as_bytes(), call)?;
        // SAFETY: as above, and `cursor` ends with a NUL.
        checked(call, unsafe { function(self.handle.as_ptr(), cursor.as_ptr()) })
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // SAFETY: open, and never used again.
        unsafe { (self.library.symbols.sd_journal_close)(self.handle.as_ptr()) }
    }
}

/// libsystemd answers a negative error number.
fn checked(call: &'static str, code: c_int) -> Result<c_int, JournalError> {
    if code < 0 { Err(JournalError::Call { call, errno: Errno::from_raw(code.saturating_neg()) }) } else { Ok(code) }
}

fn c_string(bytes: &[u8], call: &'static str) -> Result<CString, JournalError> {
    CString::new(bytes).map_err(|_| JournalError::Call { call, errno: Errno::EINVAL })
}

#[cfg(test)]
mod tests;
