//! A cgroup for each machine, so that several can run at once: systemd-nspawn makes the container's own below it.

use std::{
    fmt::Display,
    fs, io,
    path::{Path, PathBuf},
    process,
    sync::{
        Once,
        atomic::{AtomicU32, Ordering},
    },
};

use crate::{
    cgroup::give_on,
    leftovers::is_dead,
    wait::{PATIENCE, found_within},
};

const MARK: &str = "nodewell-machine-";
const ROOT: &str = "/sys/fs/cgroup";

/// Which hierarchies a machine has a cgroup in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Controllers {
    /// Those in which systemd tracks units.
    Systemds,
    /// All: a kubelet sets limits of memory, processors and tasks. Where the outer machine has them in version 1, the
    /// machine's are of version 1, too.
    All,
}

impl Controllers {
    /// Whether the machine has the unified hierarchy, as systemd-nspawn asks for it.
    pub(super) fn unified_hierarchy(self) -> u8 {
        u8::from(self == Self::Systemds || is_unified())
    }

    /// The cgroups below which those of machines are made.
    fn parents(self) -> Vec<PathBuf> {
        let root = Path::new(ROOT);
        if is_unified() {
            return vec![root.to_owned()];
        }
        if self == Self::Systemds {
            return ["unified", "systemd"]
                .map(|name| root.join(name))
                .into_iter()
                .filter(|path| path.is_dir())
                .collect();
        }
        // Below those of this process: what a machine takes counts there.
        of("self")
    }
}

/// What a kubelet and its pods need in the machine, where there is one hierarchy for all.
const NEEDED: [&str; 5] = ["cpuset", "cpu", "io", "memory", "pids"];

/// Why no machine with [`Controllers::All`] can be booted here, if none can.
#[must_use]
pub fn controllers_unmet() -> Option<String> {
    let why = is_unified().then(|| give_on_all(Path::new(ROOT)).err()).flatten();
    why.map(|why| format!("needs cgroup controllers for a kubelet: {why}"))
}

fn give_on_all(folder: &Path) -> io::Result<()> {
    NEEDED.into_iter().try_for_each(|controller| give_on(folder, controller))
}

/// Whether all controllers are in the one hierarchy of version 2.
fn is_unified() -> bool {
    Path::new(ROOT).join("cgroup.procs").exists()
}

/// The cgroups of a process, by its number or as `self`, in all hierarchies that are mounted here.
pub(super) fn of(process: impl Display) -> Vec<PathBuf> {
    let text = fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap_or_default();
    text.lines().filter_map(folder).filter(|path| path.is_dir()).collect()
}

/// What a shell runs to move itself into these. Quoted: systemd has backslashes in names.
pub(super) fn entering(folders: &[PathBuf]) -> String {
    folders.iter().map(|folder| format!("echo 0 >'{}/cgroup.procs' || exit 1\n", folder.display())).collect()
}

/// The cgroup that a line of `/proc/PID/cgroup` names.
fn folder(line: &str) -> Option<PathBuf> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?);
    let hierarchy = match controllers {
        "" if is_unified() => "",
        "" => "unified",
        named => named.strip_prefix("name=").unwrap_or(named),
    };
    Some(Path::new(ROOT).join(hierarchy).join(path.trim_start_matches('/')))
}

/// Of the one hierarchy of version 2, what waits outside of the machine: systemd-nspawn takes the controllers of its PID 1's
/// cgroup for those that there are, and gives them all to the machine, or none.
const STARTER: &str = "starter";
/// And the machine itself: a cgroup that gives controllers on has no process of its own (EBUSY), and systemd-nspawn makes two
/// within its own.
const MACHINE: &str = "machine";

/// Folders in the hierarchies that systemd-nspawn uses; removed when dropped.
#[derive(Debug)]
pub(super) struct Cgroup(Vec<PathBuf>);

impl Cgroup {
    /// A fresh one in each hierarchy. What test processes that died have left goes first.
    pub(super) fn make(controllers: Controllers) -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        // A process that was killed may have had the number that this one has. No machine of this one's has begun before.
        static OWN: Once = Once::new();
        OWN.call_once(|| sweep_all(|owner| owner == process::id().to_string()));
        let name = format!("{MARK}{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let mut made = Self(Vec::new());
        for parent in controllers.parents() {
            sweep(&parent, is_dead);
            let folder = parent.join(&name);
            fs::create_dir(&folder)?;
            made.0.push(folder.clone());
            inherit_cpuset(&parent, &folder)?;
            if is_unified() {
                divide(&folder, controllers)?;
            }
        }
        Ok(made)
    }

    /// What a shell runs that waits for the machine and is not in it.
    pub(super) fn wait_beside(&self) -> String {
        if is_unified() { self.enter_part(STARTER) } else { String::new() }
    }

    /// What a shell runs to move itself in.
    pub(super) fn enter(&self) -> String {
        if is_unified() { self.enter_part(MACHINE) } else { entering(&self.0) }
    }

    fn enter_part(&self, name: &str) -> String {
        entering(&self.0.iter().map(|folder| folder.join(name)).collect::<Vec<_>>())
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for folder in &self.0 {
            // The kernel lets go of the dead a moment later. No panic: a failed case unwinds through here.
            if found_within(PATIENCE, || remove(folder).ok()).is_none() {
                eprintln!("{} stays until a later run removes it: something is in it", folder.display());
            }
        }
    }
}

fn divide(folder: &Path, controllers: Controllers) -> io::Result<()> {
    if controllers == Controllers::All {
        give_on_all(Path::new(ROOT))?;
        give_on_all(folder)?;
    }
    [STARTER, MACHINE].iter().try_for_each(|name| fs::create_dir(folder.join(name)))
}

/// A new cpuset of version 1 is empty, and takes no process before it has processors and memory.
fn inherit_cpuset(parent: &Path, folder: &Path) -> io::Result<()> {
    for file in ["cpuset.cpus", "cpuset.mems"] {
        // In version 2 it is the kernel that inherits.
        if folder.join("cgroup.clone_children").exists() && folder.join(file).exists() {
            fs::write(folder.join(file), fs::read(parent.join(file))?)?;
            fs::write(folder.join("cgroup.clone_children"), "1")?;
        }
    }
    Ok(())
}

/// Removes what test processes that died have left.
pub fn remove_leftovers() {
    sweep_all(is_dead);
}

fn sweep_all(is_left: impl Fn(&str) -> bool) {
    for controllers in [Controllers::Systemds, Controllers::All] {
        controllers.parents().iter().for_each(|parent| sweep(parent, &is_left));
    }
}

fn sweep(hierarchy: &Path, is_left: impl Fn(&str) -> bool) {
    let left = fs::read_dir(hierarchy).into_iter().flatten().flatten();
    for entry in left {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(MARK)?.split('-').next());
        if owner.is_some_and(&is_left) {
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
