use super::*;

#[test]
fn a_device_is_read_out_of_the_kernels_message() {
    for (message, device) in [
        ("EXT4-fs (sda1): Remounting filesystem read-only", Some("sda1")),
        ("BTRFS info (device sdb state E): forced readonly", Some("sdb")),
        ("XFS (dm-3): Log I/O Error Detected. Shutting down filesystem", Some("dm-3")),
        ("Remounting filesystem read-only", None),
        ("x (/etc/passwd): y", None),
        ("x (", None),
    ] {
        assert_eq!(device_in(message).as_deref(), device, "{message}");
    }
}

const MOUNTED: &str = "40 1 8:16 / /mnt rw - ext4 /dev/sdb ro\n";
const ELSEWHERE: &str = "27 1 254:0 / / rw - ext4 /dev/vda rw\n";
/// All that a look at `sdb` reads, where it has an ext4.
const FILES: [(&str, &str); 4] = [
    ("proc/self/mountinfo", MOUNTED),
    ("sys/class/block/sdb/dev", "8:16\n"),
    ("sys/fs/ext4/sdb/errors_count", "1\n"),
    ("run/udev/data/b8:16", "E:ID_FS_TYPE=ext4\n"),
];

/// A host with `sdb`, and the check that looks after one problem of it.
struct Host {
    root: tempfile::TempDir,
    check: FilesystemCheck,
    link: Link,
    watched: WatchedProblem,
    reported: ReportedProblem,
}

impl Host {
    /// `since`: when the problem began, which the check finds as it starts.
    fn with_problem(check: RecoveryCheck, since: Timestamp) -> Self {
        let root = tempfile::tempdir().unwrap();
        let path = |name| root.path().join(name);
        let roots =
            HostRoots { proc: path("proc"), sys: path("sys"), dev: path("dev"), run: path("run"), kubelet: path("k") };
        let status_line = StatusLine::new("");
        let link = Link::new(nodewell_client::Client::new(path("no-agent.sock")), "check", status_line.clone());
        let watched = WatchedProblem {
            condition: Name::fixed("ReadonlyFilesystem"),
            reason: Name::fixed("FilesystemIsReadOnly"),
            subject: Some("sdb".into()),
            device: "sdb".into(),
        };
        let version = ProblemVersion { count: 1, last_seen: since };
        let reported = ReportedProblem { check, id: "1".into(), since, version };
        let host = Self { check: FilesystemCheck::new(roots, status_line), root, link, watched, reported };
        FILES.iter().for_each(|(path, text)| host.write(path, text));
        host
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn remove(&self, path: &str) {
        std::fs::remove_dir_all(self.root.path().join(path)).unwrap();
    }

    /// What stands there cannot be read: a folder is no file.
    fn spoil(&self, path: &str) {
        let path = self.root.path().join(path);
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(path).unwrap();
    }

    fn unmount(&self) {
        self.remove("sys/fs/ext4/sdb");
        self.write("proc/self/mountinfo", ELSEWHERE);
    }

    fn is_over(&mut self) -> bool {
        let Self { check, link, watched, reported, .. } = self;
        let verdict = check.judge(link, watched, reported, &mut Readings::new());
        matches!(verdict, FilesystemVerdict::Over(_))
    }
}

#[tokio::test]
async fn a_look_that_fails_ends_no_problem() {
    for (path, text) in FILES {
        let mut host = Host::with_problem(RecoveryCheck::FilesystemWritable, Timestamp::now());
        assert!(!host.is_over(), "{path}");
        // The table of mounts comes first: whatever else fails, the filesystem may be seen nowhere.
        if path == "run/udev/data/b8:16" {
            host.unmount();
        }
        host.spoil(path);
        assert!(!host.is_over(), "{path}");
        assert!(host.check.summary().contains("cannot look"), "{path}");
        host.remove(path);
        host.write(path, text);
        if path != "run/udev/data/b8:16" {
            host.unmount();
        }
        assert!(host.is_over(), "{path}: it was unmounted");
        assert!(!host.check.summary().contains("cannot look"), "{path}");
    }
}

/// It does not show whether a pod has it mounted.
#[tokio::test]
async fn a_fat_that_is_not_mounted_here_has_a_problem_until_its_device_is_gone() {
    let mut host = Host::with_problem(RecoveryCheck::FilesystemWritable, Timestamp::now());
    host.unmount();
    host.write("run/udev/data/b8:16", "E:ID_FS_TYPE=vfat\n");
    for _ in 0..3 {
        assert!(!host.is_over());
    }
    host.remove("sys/class/block/sdb");
    assert!(host.is_over());
}

#[tokio::test]
async fn a_device_that_cannot_be_looked_at_is_not_gone() {
    let mut host = Host::with_problem(RecoveryCheck::DevicePresent, Timestamp::now());
    assert!(!host.is_over());
    host.spoil("sys/class/block/sdb/dev");
    assert!(!host.is_over());
    host.remove("sys/class/block/sdb");
    assert!(host.is_over());
}

/// A problem from before the check process started is over at the first look if nothing of it is there.
#[tokio::test]
async fn a_first_look_that_fails_ends_nothing_and_is_not_the_first() {
    for path in ["proc/self/mountinfo", "sys/class/block/sdb/dev"] {
        for check in [RecoveryCheck::FilesystemWritable, RecoveryCheck::DevicePresent] {
            let mut host = Host::with_problem(check, Timestamp::UNIX_EPOCH);
            host.spoil(path);
            assert!(!host.is_over(), "{path} {check:?}");
            assert!(host.check.problems[&host.watched].history.is_new(), "{path} {check:?}");
        }
    }
}

/// The write is no evidence where the errors that speak against it are not read.
#[tokio::test]
async fn a_counter_that_cannot_be_read_is_not_zero() {
    let mut host = Host::with_problem(RecoveryCheck::FilesystemWritable, Timestamp::UNIX_EPOCH);
    assert!(!host.is_over());
    let writable = format!("41 1 8:16 / {} rw - ext4 /dev/sdb rw\n", host.root.path().display());
    host.write("proc/self/mountinfo", &writable);
    for text in [None, Some("many\n")] {
        match text {
            Some(text) => {
                host.remove("sys/fs/ext4/sdb/errors_count");
                host.write("sys/fs/ext4/sdb/errors_count", text);
            }
            None => host.spoil("sys/fs/ext4/sdb/errors_count"),
        }
        for _ in 0..3 {
            assert!(!host.is_over(), "{text:?}");
        }
        assert!(!host.check.probes.have_begun(), "no write is asked for");
    }
    host.write("sys/fs/ext4/sdb/errors_count", "1\n");
    let deadline = Instant::now() + Duration::from_secs(20);
    while !host.is_over() {
        assert!(Instant::now() < deadline, "a write shows it");
        tokio::task::yield_now().await;
    }
}
