//! Socket activation: open descriptors with names (`sd_listen_fds(3)`), taken into our ownership.
#![allow(unsafe_code)]

use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};

use libsystemd::{activation::receive_descriptors_with_names, errors::SdError};

/// An open descriptor and the name that its socket unit gives it (`FileDescriptorName=`).
#[derive(Debug)]
pub struct ActivatedDescriptor {
    pub name: String,
    pub descriptor: OwnedFd,
}

/// Takes what systemd passed to this process; nothing, if it was started in another way. The descriptors are closed on
/// exec, and `LISTEN_*` is gone from the environment, so that no child takes them for its own.
///
/// Call it first in `main`: it changes the environment, and no other code may have opened a descriptor yet.
pub fn take_activated_descriptors() -> Result<Vec<ActivatedDescriptor>, SdError> {
    let received = receive_descriptors_with_names(true)?;
    let owned = received.into_iter().map(|(descriptor, name)| {
        let number = descriptor.into_raw_fd();
        // SAFETY: LISTEN_PID shows that descriptors 3 and up are meant for this very process; each was found open when
        // FD_CLOEXEC was set on it; and without LISTEN_* in the environment they cannot be taken a second time.
        let descriptor = unsafe { OwnedFd::from_raw_fd(number) };
        ActivatedDescriptor { name, descriptor }
    });
    Ok(owned.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_no_socket_activated_has_no_descriptors() {
        assert!(take_activated_descriptors().unwrap().is_empty());
    }
}
