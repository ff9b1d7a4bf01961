//! A cgroup for each machine, so that several can run at once: systemd-nspawn makes the container's own below it.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use crate::wait::until;

const MARK: &str = "nodewell-machine-";

/// Folders in the hierarchies that systemd-nspawn uses; removed when dropped.
#[derive(Debug)]
pub(super) struct Cgroup(Vec<PathBuf>);

impl Cgroup {
    /// A fresh one in each hierarchy. What test processes that died have left goes first.
    pub(super) fn make() -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("{MARK}{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let mut made = Self(Vec::new());
        for hierarchy in hierarchies() {
            sweep(&hierarchy);
            let folder = hierarchy.join(&name);
            fs::create_dir(&folder)?;
            made.0.push(folder);
        }
        Ok(made)
    }

    /// What a shell runs to move itself in.
    pub(super) fn enter(&self) -> String {
        self.0.iter().map(|folder| format!("echo $$ >{}/cgroup.procs && ", folder.display())).collect()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for folder in &self.0 {
            // The kernel lets go of the dead a moment later.
            until("the machine's cgroup is empty", || remove(folder).ok());
        }
    }
}

/// systemd's own and the unified one where both are (hybrid); otherwise the one there is.
fn hierarchies() -> Vec<PathBuf> {
    let root = Path::new("/sys/fs/cgroup");
    if root.join("cgroup.procs").exists() {
        return vec![root.to_owned()];
    }
    ["unified", "systemd"].map(|name| root.join(name)).into_iter().filter(|path| path.is_dir()).collect()
}

fn sweep(hierarchy: &Path) {
    let left = fs::read_dir(hierarchy).into_iter().flatten().flatten();
    for entry in left {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(MARK)?.split('-').next());
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            // A process may still be in there; then it stays.
            let _ = remove(&entry.path());
        }
    }
}

fn remove(folder: &Path) -> io::Result<()> {
    let inner = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for entry in inner.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        remove(&entry.path())?;
    }
    fs::remove_dir(folder)
}
