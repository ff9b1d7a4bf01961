//! A mount namespace of the run's own: what its cases mount is gone with its last process, also when it is killed, and
//! cases of a later run find no filesystem whose program has ended.

use nix::{
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
    unistd::geteuid,
};

/// Before the first thread is started. Who is not root mounts nothing.
///
/// # Panics
/// If root may not have one.
pub fn separate() {
    if !geteuid().is_root() {
        return;
    }
    unshare(CloneFlags::CLONE_NEWNS).expect("root makes a mount namespace");
    let flags = MsFlags::MS_REC | MsFlags::MS_SLAVE;
    mount(None::<&str>, "/", None::<&str>, flags, None::<&str>).expect("mounts are kept in their namespace");
}
