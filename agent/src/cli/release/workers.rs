//! The workers of a check process, by the names of their tasks and by their command lines.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt, path::Path};

use crate::check_process::{Group, Stat, TaskName};

/// `pid 77` for each worker of `group` whose agent listens on `socket`.
pub(super) fn of(group: Group, socket: &Path) -> Vec<String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let workers = entries.filter(|entry| is_worker(&entry.path(), group, socket));
    workers.map(|entry| format!("pid {}", entry.file_name().display())).collect()
}

/// The command line is read only where that returns at once. A process that hangs may hold the lock of its memory, so
/// it counts without a look at its command line.
fn is_worker(process: &Path, group: Group, socket: &Path) -> bool {
    let Some(stat) = Stat::read(process) else { return false };
    let is_named = TaskName::named(&stat.name, group.worker_group()).is_some() && stat.is_there();
    is_named && (stat.state != 'S' && stat.state != 'R' || is_of(process, socket))
}

fn is_of(process: &Path, socket: &Path) -> bool {
    let Ok(line) = fs::read(process.join("cmdline")) else { return false };
    let mut words = line.split(|byte| *byte == 0).skip_while(|word| *word != b"--socket").skip(1);
    words.next().is_some_and(|word| is_same(Path::new(OsStr::from_bytes(word)), socket))
}

/// Also by another way to it, such as `/var/run`.
fn is_same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| fs::canonicalize(path).ok();
    one == other || whole(one).is_some_and(|one| Some(one) == whole(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOCKET: &str = "/run/nodewell/nodewell.sock";

    fn process(folder: &Path, name: &str, state: char, socket: &Path) -> bool {
        let zeros = vec!["0"; 48].join(" ");
        fs::write(folder.join("stat"), format!("7 ({name}) {state} 1 {zeros}\n")).unwrap();
        let line = format!("nodewelld\0worker\0disk\0--parent\0{}\0--socket\0{SOCKET}\0", 5);
        fs::write(folder.join("cmdline"), line).unwrap();
        is_worker(folder, Group::Disk, socket)
    }

    #[test]
    fn workers_are_known_by_group_and_agent_and_one_that_hangs_may_be_any() {
        let folder = tempfile::tempdir().unwrap();
        let is = |name, state, socket: &str| process(folder.path(), name, state, Path::new(socket));
        assert!(is("nwd:idle", 'S', SOCKET));
        assert!(!is("nwg:idle", 'S', SOCKET) && !is("nodewelld", 'S', SOCKET));
        assert!(!is("nwd:idle", 'S', "/tmp/other.sock"));
        assert!(is("nwd:sda", 'D', "/tmp/other.sock"));
        assert!(!is("nwd:sda", 'Z', SOCKET), "it holds nothing any more");
    }

    #[test]
    fn a_socket_is_the_same_by_another_way_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let (socket, link) = (folder.path().join("socket"), folder.path().join("link"));
        fs::write(&socket, "").unwrap();
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        assert!(is_same(&socket, &link.join("socket")));
        assert!(!is_same(&socket, &folder.path().join("other")));
    }
}
