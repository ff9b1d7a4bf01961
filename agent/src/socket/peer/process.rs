//! What `/proc/PID` shows of a process: one reading, from which an identity is judged. Every reader takes the root.

use std::{io::Read, num::NonZeroU32, path::Path};

/// More than the kernel writes: a path is at most 4,096 bytes, and there are at most a few dozen hierarchies.
const FILE_LIMIT_BYTES: u64 = 256 * 1024;
/// `PF_EXITING` (include/linux/sched.h): the first thread has ended or is about to.
const EXITING: u64 = 0x4;

/// One reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProcessReading {
    pub(super) cgroup: String,
    /// Real, effective, saved and file system user of now.
    pub(super) uids: [u32; 4],
    /// Numbers of the process in nested pid namespaces, the reader's own included.
    pub(super) pid_namespaces: usize,
    pub(super) stat: Stat,
}

/// The part of `/proc/PID/stat` that we need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    /// In ticks since boot.
    pub(super) start_ticks: u64,
    /// On cgroup v1 the kernel shows an exiting thread in the root cgroup, wherever it was (`proc_cgroup_show`). A
    /// process goes on while its other threads do, so without this a container's process could leave its container.
    pub(super) is_exiting: bool,
}

impl ProcessReading {
    /// `None` if the process is gone or any of it cannot be read: then nothing is known of it.
    pub(super) fn of(proc_root: &Path, pid: NonZeroU32) -> Option<Self> {
        let folder = proc_root.join(pid.to_string());
        let cgroup = read(&folder.join("cgroup"))?;
        let status = read(&folder.join("status"))?;
        // After the cgroup: a thread that is not exiting now was not then.
        let stat = Stat::of(proc_root, pid)?;
        Some(Self { cgroup, uids: uids(&status)?, pid_namespaces: numbers(&status, "NSpid:")?.count(), stat })
    }
}

impl Stat {
    pub(super) fn of(proc_root: &Path, pid: NonZeroU32) -> Option<Self> {
        Self::parse(&read(&proc_root.join(pid.to_string()).join("stat"))?)
    }

    /// proc_pid_stat(5): the name is in parentheses and may hold anything; what follows does not.
    fn parse(text: &str) -> Option<Self> {
        let mut after_name = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace();
        // Fields are counted from 1, and the state is the third.
        let flags: u64 = after_name.nth(9 - 3)?.parse().ok()?;
        let start_ticks = after_name.nth(22 - 9 - 1)?.parse().ok()?;
        Some(Self { start_ticks, is_exiting: flags & EXITING != 0 })
    }
}

/// The agent's own cgroups.
pub(super) fn own_cgroup(proc_root: &Path) -> Option<String> {
    read(&proc_root.join("self/cgroup"))
}

/// Whether this procfs shows our own pid namespace, so that the kernel's numbers are found in it.
pub(super) fn is_our_namespace(proc_root: &Path) -> bool {
    let shown = std::fs::read_link(proc_root.join("self"));
    shown.is_ok_and(|pid| pid.as_os_str() == std::process::id().to_string().as_str())
}

fn read(file: &Path) -> Option<String> {
    let mut text = String::new();
    let length = std::fs::File::open(file).ok()?.take(FILE_LIMIT_BYTES).read_to_string(&mut text).ok()?;
    // What was cut off could have been what counts.
    ((length as u64) < FILE_LIMIT_BYTES).then_some(text)
}

fn uids(status: &str) -> Option<[u32; 4]> {
    let mut numbers = numbers(status, "Uid:")?;
    let mut uids = [0; 4];
    for uid in &mut uids {
        *uid = numbers.next()?;
    }
    Some(uids)
}

/// The numbers of a line of `/proc/PID/status`. The kernel escapes line breaks in the name, which stands before.
fn numbers<'a>(status: &'a str, key: &str) -> Option<impl Iterator<Item = u32> + 'a> {
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    Some(line.split_ascii_whitespace().map_while(|number| number.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_process_is_read() {
        let us = NonZeroU32::new(std::process::id()).unwrap();
        let reading = ProcessReading::of(Path::new("/proc"), us).unwrap();
        assert_eq!(reading.uids[1], nix::unistd::geteuid().as_raw());
        assert_eq!(reading.pid_namespaces, 1);
        assert!(!reading.stat.is_exiting && reading.stat.start_ticks > 0);
        assert_eq!(Some(reading.cgroup), own_cgroup(Path::new("/proc")));
        assert!(is_our_namespace(Path::new("/proc")));
    }

    #[test]
    fn a_name_in_parentheses_may_hold_anything() {
        let stat = |name: &str, flags: &str| {
            format!("42 ({name}) S 1 42 42 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 1 0 777 1000 10 18446744073709551615\n")
        };
        for name in ["a", ") R 1 2 3", "x (y) z", "a\nb", ""] {
            let read = Stat::parse(&stat(name, "4194560")).unwrap();
            assert_eq!(read, Stat { start_ticks: 777, is_exiting: false }, "{name:?}");
        }
        assert!(Stat::parse(&stat("a", "4194564")).unwrap().is_exiting);
        for broken in ["", "42 (a", "42 (a) S 1 2", "42 (a) S 1 42 42 0 -1 x 0"] {
            assert_eq!(Stat::parse(broken), None, "{broken:?}");
        }
    }

    #[test]
    fn a_status_without_its_lines_is_no_reading() {
        assert_eq!(uids("Name:\tUid:\\nUid:\t0 0 0 0\nUid:\t1\t2\t3\t4\n"), Some([1, 2, 3, 4]));
        assert_eq!(uids("Uid:\t1\t2\t3\n"), None);
        assert_eq!(numbers("NSpid:\t12\t3\n", "NSpid:").unwrap().count(), 2);
        assert!(numbers("Name:\tx\n", "NSpid:").is_none());
    }
}
