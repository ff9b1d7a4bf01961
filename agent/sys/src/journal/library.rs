//! `libsystemd.so.0`, opened at run time: a node without it still runs us.

use std::{
    ffi::{c_char, c_int, c_void},
    fmt,
};

use libloading::Library;

use super::JournalError;
use crate::memory::drop_libraries;

/// It, and what distributions link it with.
const LIBRARIES: [&str; 7] = ["libsystemd", "libgcrypt", "libgpg-error", "liblzma", "liblz4", "libzstd", "libcap"];

/// `sd_journal`, libsystemd's own.
#[repr(C)]
pub(super) struct Handle {
    _opaque: [u8; 0],
}

/// `sd_id128_t`.
pub(super) type Id128 = [u8; 16];

macro_rules! symbols {
    ($($name:ident: fn($($argument:ty),*) -> $answer:ty;)*) => {
        /// The functions that are used, as `sd-journal(3)` declares them.
        pub(super) struct Symbols {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) -> $answer,)*
        }

        impl Symbols {
            /// # Safety
            /// `library` must be libsystemd (or a stand-in with the same signatures) and outlive the answer.
            unsafe fn find(library: &Library, path: &str) -> Result<Self, JournalError> {
                Ok(Self {
                    $($name: {
                        type Function = unsafe extern "C" fn($($argument),*) -> $answer;
                        let symbol = stringify!($name);
                        // SAFETY: the signature is the one that sd-journal.h has had since systemd 229.
                        let found = unsafe { library.get::<Function>(symbol.as_bytes()) };
                        *found.map_err(|_| JournalError::Symbol { library: path.to_owned(), symbol })?
                    },)*
                })
            }
        }
    };
}

symbols! {
    sd_journal_open: fn(*mut *mut Handle, c_int) -> c_int;
    sd_journal_open_directory: fn(*mut *mut Handle, *const c_char, c_int) -> c_int;
    sd_journal_close: fn(*mut Handle) -> ();
    sd_journal_set_data_threshold: fn(*mut Handle, usize) -> c_int;
    sd_journal_add_match: fn(*mut Handle, *const c_void, usize) -> c_int;
    sd_journal_add_disjunction: fn(*mut Handle) -> c_int;
    sd_journal_seek_head: fn(*mut Handle) -> c_int;
    sd_journal_seek_tail: fn(*mut Handle) -> c_int;
    sd_journal_seek_cursor: fn(*mut Handle, *const c_char) -> c_int;
    sd_journal_seek_realtime_usec: fn(*mut Handle, u64) -> c_int;
    sd_journal_next: fn(*mut Handle) -> c_int;
    sd_journal_previous: fn(*mut Handle) -> c_int;
    sd_journal_get_realtime_usec: fn(*mut Handle, *mut u64) -> c_int;
    sd_journal_get_monotonic_usec: fn(*mut Handle, *mut u64, *mut Id128) -> c_int;
    sd_journal_get_data: fn(*mut Handle, *const c_char, *mut *const c_void, *mut usize) -> c_int;
    sd_journal_get_cursor: fn(*mut Handle, *mut *mut c_char) -> c_int;
    sd_journal_test_cursor: fn(*mut Handle, *const c_char) -> c_int;
    sd_journal_get_fd: fn(*mut Handle) -> c_int;
    sd_journal_get_timeout: fn(*mut Handle, *mut u64) -> c_int;
    sd_journal_process: fn(*mut Handle) -> c_int;
}

/// The loaded library.
pub struct JournalLibrary {
    pub(super) symbols: Symbols,
    /// Keeps the code mapped for as long as `symbols` point into it.
    _library: Library,
}

impl JournalLibrary {
    /// The name that every systemd distribution has: `libsystemd.so.0`.
    pub const NAME: &str = "libsystemd.so.0";

    /// Loads `path`, a file name for the dynamic linker or a path.
    pub fn load(path: &str) -> Result<Self, JournalError> {
        // SAFETY: libsystemd's initialisers only set up its own state; the path is the operator's or ours.
        let library = unsafe { Library::new(path) }
            .map_err(|error| JournalError::Library { library: path.to_owned(), reason: error.to_string() })?;
        // SAFETY: `library` lives in the same struct.
        let symbols = unsafe { Symbols::find(&library, path)? };
        // If this fails, what the loader went through stays in memory: not worth a message.
        let _ = drop_libraries(&LIBRARIES);
        Ok(Self { symbols, _library: library })
    }
}

impl fmt::Debug for JournalLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JournalLibrary").finish_non_exhaustive()
    }
}
