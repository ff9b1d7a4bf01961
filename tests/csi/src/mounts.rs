//! The mounts of volumes at the paths that the kubelet names.

use std::{fs, io, os::unix::fs::MetadataExt, path::Path};

use nix::{
    errno::Errno,
    mount::{MntFlags, MsFlags, mount, umount2},
};

/// Mounts the folder `volume` at `target`, unless it is there already.
pub(crate) fn publish(volume: &Path, target: &Path, is_read_only: bool) -> io::Result<()> {
    // The kubelet makes the folder above it only.
    if let Err(error) = fs::create_dir(target)
        && error.kind() != io::ErrorKind::AlreadyExists
    {
        return Err(error);
    }
    if is_same(volume, target)? {
        return Ok(());
    }
    let none = None::<&str>;
    mount(Some(volume), target, none, MsFlags::MS_BIND, none)?;
    if is_read_only {
        let flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
        mount(none, target, none, flags, none)?;
    }
    Ok(())
}

/// Unmounts what is mounted at `target`, and removes it. What is not there is fine.
pub(crate) fn unpublish(target: &Path) -> io::Result<()> {
    loop {
        match umount2(target, MntFlags::UMOUNT_NOFOLLOW) {
            // One mount may lie over another.
            Ok(()) => {}
            // Nothing is mounted there.
            Err(Errno::EINVAL) => break,
            Err(Errno::ENOENT) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    fs::remove_dir(target)
}

fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    let (one, other) = (fs::metadata(one)?, fs::metadata(other)?);
    Ok(one.dev() == other.dev() && one.ino() == other.ino())
}
