//! The workers of check processes, of whichever agent, by the names of their tasks: each may hold a device.

use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use crate::check_process::{Group, Stat, TaskName};

/// One that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Worker {
    pid: String,
    /// Beside it its devices are released; `None` if that cannot be asked.
    socket: Option<PathBuf>,
}

/// All of `group` on this machine.
pub(super) fn of(group: Group) -> Vec<Worker> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| worker(&entry.path(), group)).collect()
}

impl Worker {
    /// Whether it lets go of its devices when they are released beside `socket`. One that hangs may be any agent's.
    pub(super) fn obeys(&self, socket: &Path) -> bool {
        self.socket.as_ref().is_none_or(|own| is_same(own, socket))
    }

    /// `pid 77`, and where it is to be released, if not beside `socket`.
    pub(super) fn shown(&self, socket: &Path) -> String {
        match &self.socket {
            Some(own) if !is_same(own, socket) => {
                format!("pid {} (release it with --socket {})", self.pid, own.display())
            }
            _ => format!("pid {}", self.pid),
        }
    }
}

fn worker(process: &Path, group: Group) -> Option<Worker> {
    let stat = Stat::read(process)?;
    let is_named = TaskName::named(&stat.name, group.worker_group()).is_some() && stat.is_there();
    is_named.then(|| Worker { pid: name(process), socket: socket_of(process, stat.state) })
}

fn name(process: &Path) -> String {
    process.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The command line is read only where that returns at once: a process that hangs may hold the lock of its memory.
fn socket_of(process: &Path, state: char) -> Option<PathBuf> {
    let line = matches!(state, 'S' | 'R').then(|| fs::read(process.join("cmdline")).ok()).flatten()?;
    let mut words = line.split(|byte| *byte == 0).skip_while(|word| *word != b"--socket").skip(1);
    words.next().map(|word| PathBuf::from(OsStr::from_bytes(word)))
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

    fn process(folder: &Path, name: &str, state: char) -> Option<Worker> {
        let zeros = vec!["0"; 48].join(" ");
        fs::write(folder.join("stat"), format!("7 ({name}) {state} 1 {zeros}\n")).unwrap();
        let line = format!("nodewell-checks\0worker\0disk\0--parent\0{}\0--socket\0{SOCKET}\0", 5);
        fs::write(folder.join("cmdline"), line).unwrap();
        worker(folder, Group::Disk)
    }

    #[test]
    fn workers_are_known_by_their_group_and_those_of_every_agent_count() {
        let folder = tempfile::tempdir().unwrap();
        let process = |name, state| process(folder.path(), name, state);
        assert!(process("nwg:idle", 'S').is_none() && process("nodewelld", 'S').is_none());
        assert!(process("nwd:sda", 'Z').is_none(), "it holds nothing any more");
        let worker = process("nwd:idle", 'S').unwrap();
        let (ours, other) = (Path::new(SOCKET), Path::new("/tmp/other.sock"));
        assert!(worker.obeys(ours) && !worker.obeys(other));
        assert!(!worker.shown(ours).contains(SOCKET));
        assert!(worker.shown(other).ends_with(&format!(" (release it with --socket {SOCKET})")));
        let hangs = process("nwd:sda", 'D').unwrap();
        assert!(hangs.obeys(ours) && hangs.obeys(other), "it may be any agent's");
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
