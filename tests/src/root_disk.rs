//! A root filesystem of the agent's own that can be made to hang: its program, its libraries and its state lie on a loop
//! device, to which reads and writes are held back by the kernel until they are let go.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

use crate::{
    agent::Plan,
    cgroup::Cgroup,
    check_process::PROGRAM,
    cli::binary,
    disk::{Disk, output_of},
    process::Process,
};

const SIZE_BYTES: u64 = 1 << 30;
/// The disk with its root and the plan's folder come first, the command after them.
const SCRIPT: &str = r#"
for folder in /proc /sys /dev "$2"; do
    mkdir -p "$1$folder" && mount --bind "$folder" "$1$folder" || exit 1
done
mkdir -p "$1/state-on-disk" "$2/state" && mount --bind "$1/state-on-disk" "$1$2/state" || exit 1
root=$1; shift 2; cd / && exec chroot "$root" "$@"
"#;
/// One at a time: to compact memory waits for each page that is being read, and keeps pages of others locked meanwhile.
static HANGING: Mutex<()> = Mutex::new(());
/// Something that no process has read yet.
const UNREAD: &str = "unread";

/// The disk, and the cgroups whose access to it can be held back.
#[derive(Debug)]
pub struct RootDisk {
    disk: Disk,
    reads: Cgroup,
    memory: Cgroup,
}

impl RootDisk {
    /// With the agent's programs and what the dynamic linker loads for them.
    ///
    /// # Panics
    /// If a step fails.
    #[must_use]
    pub fn new() -> Self {
        Self::with_options("rw")
    }

    /// The same with files that are in memory page by page, as ext4 has those whose data is journalled: a locked page of
    /// a larger folio is lost when memory is compacted.
    ///
    /// # Panics
    /// If a step fails.
    #[must_use]
    pub fn without_large_folios() -> Self {
        Self::with_options("rw,data=journal")
    }

    fn with_options(options: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("nodewell-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let disk = Disk::with_options(SIZE_BYTES, options);
        for file in files() {
            let copy = below(&disk.mount_point(), &file);
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            fs::copy(file, copy).unwrap();
        }
        fs::write(disk.mount_point().join(UNREAD), [7; 1 << 20]).unwrap();
        let cgroup = |controller| Cgroup::with_controller(controller, &name).unwrap();
        let root = Self { reads: cgroup("blkio"), memory: cgroup("memory"), disk };
        root.forget_pages();
        root
    }

    /// A command that starts the agent of `plan` with this as its root.
    #[must_use]
    pub fn enter(&self, plan: &Plan) -> Vec<OsString> {
        let namespace = ["unshare", "--mount", "--propagation", "private", "sh", "-c", SCRIPT, "sh"];
        let mut argv = [self.reads.enter(), self.memory.enter()].concat();
        // Of its own name each, or the two scripts would take each other's arguments.
        argv.extend(namespace.map(OsString::from));
        argv.extend([self.disk.mount_point().into_os_string(), plan.folder().into()]);
        argv
    }

    /// From now on nothing comes from this disk and nothing gets on it, and no page of it is in memory but those that a
    /// process has locked. It ends when the answer is dropped.
    #[must_use]
    pub fn hang(&self) -> Hang<'_> {
        let alone = HANGING.lock().unwrap_or_else(PoisonError::into_inner);
        output_of("fsfreeze", &["--freeze"], &self.disk.mount_point());
        let frozen = Frozen(self);
        // Locked pages of a file, too, are lost so where its filesystem has large folios.
        fs::write("/proc/sys/vm/compact_memory", "1").unwrap();
        self.reads.throttle(&self.disk.numbers());
        // Mapped pages that are not locked are taken away here, all others with the file's.
        self.memory.reclaim();
        self.forget_pages();
        let mut argv = self.reads.enter();
        argv.extend(["cat".into(), self.disk.mount_point().join(UNREAD).into_os_string()]);
        Hang { _frozen: frozen, _alone: alone, stranger: Process::start(&argv, Path::new("/dev/null")).unwrap() }
    }

    /// What no process has mapped is read from the disk the next time.
    fn forget_pages(&self) {
        let root = self.disk.mount_point();
        for file in files().into_iter().chain([PathBuf::from("/").join(UNREAD)]) {
            let file = File::open(below(&root, &file)).unwrap();
            // Dirty pages cannot be forgotten.
            file.sync_all().unwrap();
            posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED).unwrap();
        }
    }
}

impl Default for RootDisk {
    fn default() -> Self {
        Self::new()
    }
}

/// A disk that hangs, and a process that reads from it all the while.
#[derive(Debug)]
pub struct Hang<'a> {
    /// Let go first: a process that waits for the disk may not even be killed.
    _frozen: Frozen<'a>,
    _alone: MutexGuard<'static, ()>,
    stranger: Process,
}

impl Hang<'_> {
    /// No process got anything from the disk so far.
    ///
    /// # Panics
    /// If one did.
    pub fn assert_holds(&mut self) {
        assert!(self.stranger.ended().is_none(), "the disk hangs no more");
    }
}

#[derive(Debug)]
struct Frozen<'a>(&'a RootDisk);

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        self.0.reads.let_go(&self.0.disk.numbers());
        let thawed = Command::new("fsfreeze").arg("--unfreeze").arg(self.0.disk.mount_point()).status();
        assert!(thawed.is_ok_and(|status| status.success()), "the disk stays frozen");
    }
}

fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").expect("an absolute path"))
}

/// The agent's programs and their libraries.
fn files() -> BTreeSet<PathBuf> {
    let programs = ["nodewelld", PROGRAM].map(binary);
    programs.iter().flat_map(|program| libraries(program)).chain(programs.clone()).collect()
}

/// What the dynamic linker loads for `program`, itself included.
fn libraries(program: &Path) -> Vec<PathBuf> {
    let listed = output_of("ldd", &[], program);
    listed.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect()
}
