//! A filesystem on a loop device, with a folder of its own. All of it is gone when it is dropped, and the device also when
//! the process is killed.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Command,
    sync::mpsc::{self, Sender},
    thread::{self, JoinHandle},
    time::Duration,
};

use nix::unistd::geteuid;
use tempfile::TempDir;

/// Enough for ext4 with a journal.
const SIZE_BYTES: u64 = 16 * 1024 * 1024;
/// What takes the room of a disk that is to be full.
const FILLING: &str = "filling";

/// A mounted ext4.
#[derive(Debug)]
pub struct Disk {
    folder: TempDir,
    device: LoopDevice,
}

/// A loop device. It lives for as long as this is open or it is mounted.
#[derive(Debug)]
pub struct LoopDevice {
    path: String,
    _open: File,
}

impl LoopDevice {
    /// One that has this image.
    ///
    /// # Panics
    /// If there is none left.
    #[must_use]
    pub fn of(image: &Path) -> Self {
        let path = output_of("losetup", &["--find", "--show"], image);
        let open = File::open(&path).unwrap();
        // One that is in use is only marked: it goes with its last user (`loop_clr_fd` in drivers/block/loop.c).
        output_of("losetup", &["--detach"], Path::new(&path));
        Self { path, _open: open }
    }

    /// The device as the kernel calls it, such as `loop0`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.trim_start_matches("/dev/")
    }

    /// Its numbers as cgroups want them: `7:0`.
    ///
    /// # Panics
    /// If the device has gone.
    #[must_use]
    pub fn numbers(&self) -> String {
        let device = fs::metadata(&self.path).unwrap().rdev();
        format!("{}:{}", nix::sys::stat::major(device), nix::sys::stat::minor(device))
    }

    /// Lets ext4 find a fault on it, after which it takes no more writes.
    ///
    /// # Panics
    /// If the kernel has no such switch, or no ext4 on it is mounted.
    pub fn break_filesystem(&self) {
        fs::write(format!("/sys/fs/ext4/{}/trigger_fs_error", self.name()), "nodewell test").unwrap();
    }
}

impl Disk {
    /// Makes and mounts it.
    ///
    /// # Panics
    /// If a step fails.
    #[must_use]
    pub fn mounted() -> Self {
        Self::sized(SIZE_BYTES)
    }

    /// The same, as large as this; what is not written takes no room.
    ///
    /// # Panics
    /// If a step fails.
    #[must_use]
    pub fn sized(bytes: u64) -> Self {
        Self::with_options(bytes, "rw")
    }

    /// The same, mounted with these options of mount(8).
    ///
    /// # Panics
    /// If a step fails.
    #[must_use]
    pub fn with_options(bytes: u64, options: &str) -> Self {
        let folder = TempDir::with_prefix("nodewell-disk-").unwrap();
        let image = folder.path().join("image");
        File::create(&image).unwrap().set_len(bytes).unwrap();
        fs::create_dir(folder.path().join("mnt")).unwrap();
        output_of("mkfs.ext4", &["-q", "-F"], &image);
        let device = LoopDevice::of(&image);
        let disk = Self { folder, device };
        disk.mount(options);
        disk
    }

    /// The device as the kernel calls it, such as `loop0`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.device.name()
    }

    /// Its numbers as cgroups want them: `7:0`.
    ///
    /// # Panics
    /// If the device has gone.
    #[must_use]
    pub fn numbers(&self) -> String {
        self.device.numbers()
    }

    /// Mounts it again with `options`.
    ///
    /// # Panics
    /// If it cannot.
    pub fn mount(&self, options: &str) {
        output_of("mount", &["-o", options, &self.device.path], &self.mount_point());
    }

    /// Changes how it is mounted; returns whether that could be done now.
    #[must_use]
    pub fn try_remount(&self, how: &str) -> bool {
        let mut mount = Command::new("mount");
        mount.args(["-o", &format!("remount,{how}")]).arg(self.mount_point());
        mount.output().unwrap().status.success()
    }

    /// Unmounts it.
    ///
    /// # Panics
    /// If it cannot.
    pub fn unmount(&self) {
        output_of("umount", &[], &self.mount_point());
    }

    /// Takes it out and puts a copy in, on another device. The old one may live on unseen: a process that made a mount
    /// namespace meanwhile has a mount of it.
    ///
    /// # Panics
    /// If a step fails.
    pub fn replace(&mut self) {
        self.unmount();
        let (image, copy) = (self.folder.path().join("image"), self.folder.path().join("copy"));
        fs::copy(&image, &copy).unwrap();
        self.device = LoopDevice::of(&copy);
        self.mount("rw");
    }

    /// The root of its files.
    #[must_use]
    pub fn mount_point(&self) -> PathBuf {
        self.folder.path().join("mnt")
    }

    /// Takes all room that is left.
    ///
    /// # Panics
    /// If it cannot be written for any other reason.
    pub fn fill(&self) {
        let mut file = File::create(self.mount_point().join(FILLING)).unwrap();
        for size in [64 * 1024, 1024, 1] {
            let full = loop {
                if let Err(error) = file.write_all(&vec![0; size]) {
                    break error;
                }
            };
            assert_eq!(full.kind(), io::ErrorKind::StorageFull, "{full}");
        }
        file.sync_all().unwrap();
    }

    /// Gives the room back.
    ///
    /// # Panics
    /// If it was not taken.
    pub fn make_room(&self) {
        fs::remove_file(self.mount_point().join(FILLING)).unwrap();
    }

    /// Lets every write wait, until the answer is dropped. A process that was caught in one cannot be killed before.
    ///
    /// # Panics
    /// If it cannot be frozen.
    #[must_use]
    pub fn freeze(&self) -> Frozen {
        Frozen::new(self.mount_point())
    }

    /// Lets ext4 find a fault, after which it takes no more writes.
    ///
    /// # Panics
    /// If the kernel has no such switch.
    pub fn break_filesystem(&self) {
        self.device.break_filesystem();
    }
}

/// The longest that a filesystem is frozen: a case that went wrong must not leave processes that cannot be killed.
const FROZEN_FOR: Duration = Duration::from_secs(60);

/// A filesystem whose writes wait.
#[derive(Debug)]
pub struct Frozen {
    thaw: Option<Sender<()>>,
    thawed: Option<JoinHandle<()>>,
}

impl Frozen {
    fn new(mount_point: PathBuf) -> Self {
        output_of("fsfreeze", &["--freeze"], &mount_point);
        let (thaw, asked) = mpsc::channel();
        let thawed = thread::spawn(move || {
            let _ = asked.recv_timeout(FROZEN_FOR);
            let _ = Command::new("fsfreeze").arg("--unfreeze").arg(mount_point).status();
        });
        Self { thaw: Some(thaw), thawed: Some(thawed) }
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        drop(self.thaw.take());
        let _ = self.thawed.take().map(JoinHandle::join);
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // A case may have unmounted it; what cannot be undone here is the folder's name in the machine's mounts.
        let _ = Command::new("umount").arg("--quiet").arg(self.mount_point()).status();
    }
}

/// What the program printed on stdout.
pub(crate) fn output_of(program: &str, args: &[&str], path: &Path) -> String {
    let output = Command::new(program).args(args).arg(path).output().unwrap();
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Why there can be no loop device here.
#[must_use]
pub fn unmet() -> Option<String> {
    if !geteuid().is_root() {
        return Some("needs root, for a loop device".to_owned());
    }
    let missing = ["mkfs.ext4", "losetup", "mount", "fsfreeze"].into_iter().find(|program| {
        let folders = std::env::var("PATH").unwrap_or_default();
        !std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
    });
    missing.map(|program| format!("needs {program}")).or_else(|| {
        let control = File::open("/dev/loop-control");
        control.err().map(|error| format!("needs loop devices: /dev/loop-control: {error}"))
    })
}
