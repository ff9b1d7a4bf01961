//! The process at the other end of a Unix socket, as the kernel reports it: its user at the connect (`SO_PEERCRED`,
//! `SO_PEERGROUPS`) and a handle that never comes to mean another process (`SO_PEERPIDFD`, `pidfd_open`).
#![allow(unsafe_code)]

use std::{
    io,
    num::NonZeroU32,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::socket::{getsockopt, sockopt},
};

/// `NGROUPS_MAX`: the kernel keeps no more for a process.
const GROUPS_LIMIT: usize = 65_536;
/// Enough for nearly every process; the kernel reports how many there are if it is not.
const GROUPS_FIRST_TRY: usize = 32;

/// The peer, as it was when it connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credentials {
    /// `None` for a process outside our pid namespace (the kernel reports 0).
    pub pid: Option<NonZeroU32>,
    /// The effective user.
    pub uid: u32,
    /// The effective group.
    pub gid: u32,
}

/// `SO_PEERCRED`.
pub fn credentials(socket: BorrowedFd<'_>) -> io::Result<Credentials> {
    let peer = getsockopt(&socket, sockopt::PeerCredentials)?;
    let pid = u32::try_from(peer.pid()).ok().and_then(NonZeroU32::new);
    Ok(Credentials { pid, uid: peer.uid(), gid: peer.gid() })
}

/// `SO_PEERGROUPS` (Linux 4.13): the supplementary groups at the connect.
pub fn groups(socket: BorrowedFd<'_>) -> io::Result<Vec<u32>> {
    let mut groups = vec![0_u32; GROUPS_FIRST_TRY];
    loop {
        match read_groups(socket, &mut groups) {
            Ok(count) => {
                groups.truncate(count);
                return Ok(groups);
            }
            Err((Errno::ERANGE, needed)) if needed > groups.len() && needed <= GROUPS_LIMIT => groups.resize(needed, 0),
            Err((error, _)) => return Err(error.into()),
        }
    }
}

/// How many groups there are; where they do not fit, the error and how many would.
fn read_groups(socket: BorrowedFd<'_>, groups: &mut [u32]) -> Result<usize, (Errno, usize)> {
    const { assert!(size_of::<libc::gid_t>() == size_of::<u32>()) };
    // At most GROUPS_LIMIT words of four bytes.
    let mut length = libc::socklen_t::try_from(size_of_val(groups)).map_err(|_| (Errno::EINVAL, 0))?;
    // SAFETY: the kernel writes at most `length` bytes into `groups`, and how many there are into `length`.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERGROUPS,
            groups.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    let count = length as usize / size_of::<libc::gid_t>();
    if done == 0 { Ok(count) } else { Err((Errno::last(), count)) }
}

/// What of the kernel's help is used; less than there is only in tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Help {
    /// Neither of the two (below Linux 5.3).
    Nothing,
    /// `pidfd_open` (Linux 5.3).
    PidfdOpen,
    /// `SO_PEERPIDFD` (Linux 6.5).
    PeerPidfd,
}

/// A hold on the process that connected.
#[derive(Debug)]
pub enum Hold {
    /// On that very process: the socket itself remembers it.
    Exact(OwnedFd),
    /// On the process that had the number when we asked: after the connect, so it may be a later one.
    ByNumber(OwnedFd),
    /// The kernel has no pidfds. Compare the start time of the number's process before and after.
    None,
    /// The process is gone already.
    Gone,
}

/// Takes hold of the process that connected, as well as the kernel can.
pub fn hold(socket: BorrowedFd<'_>, pid: NonZeroU32, help: Help) -> io::Result<Hold> {
    if help >= Help::PeerPidfd {
        match getsockopt(&socket, sockopt::PeerPidfd) {
            Ok(pidfd) => return Ok(Hold::Exact(pidfd)),
            Err(Errno::ENOPROTOOPT) => {}
            // What the kernel answers for a process that was waited for: ESRCH, and EINVAL in the first versions.
            Err(Errno::ESRCH | Errno::EINVAL) => return Ok(Hold::Gone),
            Err(error) => return Err(error.into()),
        }
    }
    if help < Help::PidfdOpen {
        return Ok(Hold::None);
    }
    match pidfd_open(pid) {
        Ok(pidfd) => Ok(Hold::ByNumber(pidfd)),
        // A sandbox that does not know the call answers EPERM.
        Err(Errno::ENOSYS | Errno::EPERM) => Ok(Hold::None),
        Err(Errno::ESRCH | Errno::EINVAL) => Ok(Hold::Gone),
        Err(error) => Err(error.into()),
    }
}

impl Hold {
    /// Whether the process still runs, as a whole: then its number has been its own all the time. `None` where there
    /// is nothing to ask.
    pub fn is_alive(&self) -> io::Result<Option<bool>> {
        match self {
            Self::Exact(pidfd) | Self::ByNumber(pidfd) => Ok(Some(!has_ended(pidfd.as_fd())?)),
            Self::None => Ok(None),
            Self::Gone => Ok(Some(false)),
        }
    }
}

/// A pidfd is readable from the end of the process on, even before its parent knows (`pidfd_open(2)`).
fn has_ended(pidfd: BorrowedFd<'_>) -> io::Result<bool> {
    let mut asked = [PollFd::new(pidfd, PollFlags::POLLIN)];
    loop {
        match poll(&mut asked, PollTimeout::ZERO) {
            Ok(ready) => return Ok(ready > 0),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn pidfd_open(pid: NonZeroU32) -> Result<OwnedFd, Errno> {
    let pid = libc::pid_t::try_from(pid.get()).map_err(|_| Errno::ESRCH)?;
    // SAFETY: takes two numbers; what it returns is a new descriptor of ours (always close-on-exec), or -1.
    let opened = Errno::result(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
    let descriptor = i32::try_from(opened).map_err(|_| Errno::EBADF)?;
    // SAFETY: see above; no other code owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

#[cfg(test)]
mod tests;
