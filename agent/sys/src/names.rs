//! Resolving a name the way the programs of this node do: by `getaddrinfo(3)`, with its files, its order, its servers.
#![allow(unsafe_code)]

use std::{
    ffi::{CStr, CString},
    io, ptr,
};

/// `EAI_*` of glibc's and musl's netdb.h, which the libc crate does not have.
const EAI_NONAME: i32 = -2;
const EAI_NODATA: i32 = -5;
const EAI_SYSTEM: i32 = -11;

/// Why a name has no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// The resolver answered: there is no such name, or it has no address.
    #[error("there is no such name")]
    NoSuchName,
    /// No answer came, or the answer was of no use.
    #[error("{message}")]
    Failed { message: String },
}

/// Whether `name` has an address. Blocks for as long as the resolver's own configuration lets it: tens of seconds.
pub fn resolve(name: &str) -> Result<(), LookupError> {
    let name = CString::new(name).ok().filter(|name| !name.is_empty()).ok_or(LookupError::NoSuchName)?;
    let mut found = ptr::null_mut();
    // SAFETY: a string that ends in NUL, no service, no hints, and a place for the answer, which is only written on success.
    let code = unsafe { libc::getaddrinfo(name.as_ptr(), ptr::null(), ptr::null(), &raw mut found) };
    // Before anything else can change it.
    let system = io::Error::last_os_error();
    if code == 0 {
        // SAFETY: the answer of a call that succeeded, freed once.
        unsafe { libc::freeaddrinfo(found) };
        return Ok(());
    }
    match code {
        EAI_NONAME | EAI_NODATA => Err(LookupError::NoSuchName),
        EAI_SYSTEM => Err(LookupError::Failed { message: system.to_string() }),
        _ => Err(LookupError::Failed { message: words(code) }),
    }
}

fn words(code: i32) -> String {
    // SAFETY: takes any number and returns a string of the program's own that ends in NUL and stays.
    let words = unsafe { CStr::from_ptr(libc::gai_strerror(code)) };
    words.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_name_that_needs_no_lookup() {
        assert_eq!(resolve("127.0.0.1"), Ok(()));
        assert_eq!(resolve("::1"), Ok(()));
    }

    #[test]
    fn what_cannot_be_a_name_is_none() {
        assert_eq!(resolve("a\0b"), Err(LookupError::NoSuchName));
        assert_eq!(resolve(""), Err(LookupError::NoSuchName));
    }

    #[test]
    fn other_failures_have_the_librarys_message() {
        assert_eq!(words(-3), "Temporary failure in name resolution");
    }
}
