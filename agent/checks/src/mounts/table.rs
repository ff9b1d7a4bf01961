//! The mounts of this namespace, read once a round, and again only when the kernel reports that they have changed: a
//! node with a thousand pods has thousands of lines.

use std::{
    fs::File,
    io::{self, Read, Seek},
    os::fd::AsFd,
    path::PathBuf,
};

use crate::probe::{ReadError, attribute};
use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::statfs::{PROC_SUPER_MAGIC, fstatfs},
};

use nodewell_sys::proc::{Mount, mountinfo};

/// Ten thousand mounts are a tenth of it.
const LIMIT_BYTES: u64 = 16 << 20;
/// The kernel fills no more than a page for one read (`seq_read_iter` in fs/seq_file.c).
const USUAL_BYTES: usize = 4096;

/// `/proc/self/mountinfo`, kept open.
#[derive(Debug)]
pub(super) struct Table {
    path: PathBuf,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    file: File,
    /// The kernel's own, which reports changes.
    is_procfs: bool,
    mounts: Vec<Mount>,
}

impl Table {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, open: None }
    }

    /// With their options as they are now. The kernel reports no change of a filesystem that cuts itself off after an
    /// error: it reports only a mount, an unmount and a remount.
    pub(super) fn look(&mut self) -> Result<&[Mount], ReadError> {
        self.open = None;
        self.mounts()
    }

    /// Those there are now, with the options of the last look or later.
    pub(super) fn mounts(&mut self) -> Result<&[Mount], ReadError> {
        let open = match self.open.take().filter(Open::is_current) {
            Some(open) => open,
            None => Open::read(&self.path).map_err(|error| self.failure(&error))?,
        };
        Ok(&self.open.insert(open).mounts)
    }

    fn failure(&self, error: &io::Error) -> ReadError {
        match error.kind() {
            io::ErrorKind::NotFound => ReadError::Gone { what: self.path.display().to_string() },
            _ => attribute::read_error(&self.path, error),
        }
    }
}

impl Open {
    fn read(path: &std::path::Path) -> io::Result<Self> {
        // Opened again: a change while it is read is one that `is_current` sees.
        let mut file = File::open(path)?;
        let is_procfs = fstatfs(&file).is_ok_and(|found| found.filesystem_type() == PROC_SUPER_MAGIC);
        let mut bytes = Vec::with_capacity(USUAL_BYTES);
        file.rewind()?;
        (&file).take(LIMIT_BYTES).read_to_end(&mut bytes)?;
        Ok(Self { file, is_procfs, mounts: mountinfo::parse(&bytes) })
    }

    /// mountinfo has an exceptional condition once after each change (`mounts_poll` in fs/proc_namespace.c).
    fn is_current(&self) -> bool {
        let mut polled = [PollFd::new(self.file.as_fd(), PollFlags::POLLPRI)];
        let is_quiet = poll(&mut polled, PollTimeout::ZERO).is_ok();
        let changed = PollFlags::POLLPRI | PollFlags::POLLERR;
        self.is_procfs && is_quiet && polled[0].revents().is_some_and(|found| !found.intersects(changed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_own_is_read_once_until_it_changes() {
        let mut table = Table::new(PathBuf::from("/proc/self/mountinfo"));
        let count = table.mounts().unwrap().len();
        assert!(count > 0);
        let fake = Mount { id: 77, ..table.mounts().unwrap()[0].clone() };
        table.open.as_mut().unwrap().mounts = vec![fake];
        let seen = table.mounts().unwrap().len();
        // Another process may mount at this very moment.
        assert!(seen == 1 || seen >= count - 1);
    }

    #[test]
    fn options_are_read_with_each_look_whether_the_kernel_reports_a_change_or_not() {
        let mut table = Table::new(PathBuf::from("/proc/self/mountinfo"));
        let fake = Mount { id: u64::MAX, ..table.look().unwrap()[0].clone() };
        table.open.as_mut().unwrap().mounts = vec![fake];
        assert!(table.look().unwrap().iter().all(|mount| mount.id != u64::MAX));
    }

    #[test]
    fn a_file_of_a_test_is_read_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mountinfo");
        let mut table = Table::new(path.clone());
        assert!(matches!(table.mounts(), Err(ReadError::Gone { .. })));
        for count in 0..3 {
            std::fs::write(&path, "27 1 254:0 / / rw - ext4 /dev/vda rw\n".repeat(count)).unwrap();
            assert_eq!(table.mounts().unwrap().len(), count);
        }
    }
}
