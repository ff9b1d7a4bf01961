//! The reader as the worker asks it, and what it costs.

use std::{fs, path::Path};

use proptest::prelude::*;

use super::*;

fn roots(root: &Path) -> Roots {
    Roots {
        proc: root.join("proc"),
        sys: root.join("sys"),
        dev: root.join("dev"),
        tracing: root.join("tracing"),
        run: root.join("run"),
    }
}

fn put(root: &Path, name: &str, bytes: &[u8]) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_machine_without_procfs_has_nothing() {
    let root = tempfile::tempdir().unwrap();
    let mut reader = LimitsReader::new(roots(root.path()), &LimitsSettings::default());
    assert!(matches!(reader.list(), Err(ReadError::Gone { .. })));
    put(root.path(), "proc/loadavg", b"0.00 0.00 0.00 1/80 11206\n");
    assert_eq!(reader.list().unwrap(), PARTS);
    for part in PARTS {
        assert!(reader.read(part).is_ok(), "{part}");
    }
    assert!(matches!(reader.read("limits/none"), Err(ReadError::Gone { .. })));
}

#[test]
fn this_machine_is_read() {
    let mut reader = LimitsReader::new(Roots::default(), &LimitsSettings::default());
    for part in reader.list().unwrap() {
        assert!(reader.read(&part).is_ok(), "{part}");
    }
}

/// Every file that is read, by what may stand in it.
const FILES_READ: [&str; 18] = [
    "proc/loadavg",
    "proc/sys/fs/file-nr",
    "proc/sys/fs/inode-nr",
    "proc/sys/kernel/pid_max",
    "proc/sys/kernel/tainted",
    "proc/sys/kernel/osrelease",
    "proc/pressure/memory",
    "proc/vmstat",
    "proc/meminfo",
    "proc/1/net/stat/nf_conntrack",
    "proc/7/stat",
    "proc/7/cgroup",
    "proc/self/cgroup",
    "sys/fs/cgroup/cgroup.controllers",
    "sys/fs/cgroup/kubepods/pids.max",
    "sys/fs/cgroup/kubepods/pod0d6e7d1c-3c1b-4f2a-90b1-c2d3e4f5a6b7/memory.events",
    "run/reboot-required.pkgs",
    "var/lib/kubelet/pki/kubelet-client-current.pem",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_bytes_in_any_file_break_anything(
        contents in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), FILES_READ.len()),
        real in 0..FILES_READ.len(),
    ) {
        let root = tempfile::tempdir().unwrap();
        for (name, bytes) in FILES_READ.iter().zip(&contents) {
            put(root.path(), name, bytes);
        }
        put(root.path(), FILES_READ[real], b"1 2 3");
        let settings = LimitsSettings { for_duration: std::time::Duration::ZERO, ..LimitsSettings::default() };
        let mut reader = LimitsReader::new(roots(root.path()), &settings);
        for part in PARTS {
            prop_assert!(reader.read(part).is_ok(), "{}", part);
        }
    }
}
