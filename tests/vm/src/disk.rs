//! What lies under a guest's disks: files, and a block server that fails or falls silent on request.

use std::{
    ffi::OsString,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

use nix::sys::signal::Signal;
use nodewell_tests::{process::Process, wait::until};
use tempfile::TempDir;

use crate::kernel::output;

const MIB: u64 = 1024 * 1024;
/// Where the block server listens.
const SOCKET: &str = "socket";
/// While it is there, the block server fails all writes.
const FAILING: &str = "failing";

/// A disk as it is given to QEMU.
pub trait Backing {
    /// The value of QEMU's `file=`.
    fn file(&self) -> String;
}

/// A file; what is not written takes no room.
#[derive(Debug)]
pub struct Image {
    path: PathBuf,
    folder: TempDir,
}

impl Image {
    /// An empty one.
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    pub fn empty(mib: u64) -> Self {
        let folder = TempDir::with_prefix("nodewell-image-").unwrap();
        let path = folder.path().join("image");
        File::create(&path).unwrap().set_len(mib * MIB).unwrap();
        Self { path, folder }
    }

    /// One with an ext4 on all of it.
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    pub fn ext4(mib: u64) -> Self {
        let image = Self::empty(mib);
        // Made whole at once: no thread of the kernel goes on writing after the mount.
        let lazy = "lazy_itable_init=0,lazy_journal_init=0";
        output(Command::new("mke2fs").args(["-q", "-F", "-t", "ext4", "-E", lazy]).arg(&image.path)).unwrap();
        image
    }
}

impl Backing for Image {
    fn file(&self) -> String {
        self.path.display().to_string()
    }
}

/// An image behind `nbdkit`.
#[derive(Debug)]
pub struct Server {
    process: Process,
    image: Image,
}

impl Server {
    /// Serves it, without faults for now.
    ///
    /// # Panics
    /// If the server does not come up.
    #[must_use]
    pub fn of(image: Image) -> Self {
        let folder = image.folder.path();
        let mut argv: Vec<OsString> = vec!["nbdkit".into(), "--foreground".into(), "--filter=error".into()];
        argv.extend(["--unix".into(), folder.join(SOCKET).into(), "file".into(), image.path.clone().into()]);
        argv.extend(["error-pwrite=EIO".into(), "error-pwrite-rate=1".into()]);
        argv.push(format!("error-pwrite-file={}", folder.join(FAILING).display()).into());
        let process = Process::start(&argv, &folder.join("log")).unwrap();
        until("the block server listens", || folder.join(SOCKET).exists().then_some(()));
        Self { process, image }
    }

    /// From now on every write fails.
    ///
    /// # Panics
    /// If the flag file cannot be written.
    pub fn fail_writes(&self) {
        File::create(self.failing()).unwrap();
    }

    /// From now on they succeed again.
    ///
    /// # Panics
    /// If the flag file cannot be removed.
    pub fn mend_writes(&self) {
        fs::remove_file(self.failing()).unwrap();
    }

    /// From now on it answers nothing.
    pub fn fall_silent(&self) {
        self.process.signal(Signal::SIGSTOP);
    }

    /// It answers again, and first of all what it was asked meanwhile.
    pub fn speak(&self) {
        self.process.signal(Signal::SIGCONT);
    }

    fn failing(&self) -> PathBuf {
        self.image.folder.path().join(FAILING)
    }
}

impl Backing for Server {
    fn file(&self) -> String {
        let socket: &Path = &self.image.folder.path().join(SOCKET);
        format!("nbd:unix:{}", socket.display())
    }
}
