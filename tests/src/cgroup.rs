//! Control groups that a test makes, and processes that start in them.

mod limits;

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use crate::wait::until;

/// A cgroup; removed when dropped, with the parents that it made.
#[derive(Debug)]
pub struct Cgroup {
    path: PathBuf,
    version: Version,
    /// The innermost first.
    made: Vec<PathBuf>,
}

/// Of the hierarchy it is in: the two have other files for the same things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    First,
    Second,
}

impl Cgroup {
    /// Makes `path` in the hierarchy that systemd would use.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn make(path: &str) -> io::Result<Self> {
        let (root, version) = root().ok_or(io::ErrorKind::NotFound)?;
        Self::below(&root, path, version)
    }

    /// Makes one named `name` that has this controller, by its name of version 1: below that one's own hierarchy, or where
    /// version 2 has it.
    ///
    /// # Errors
    /// If no hierarchy has it, or it cannot be made.
    pub fn with_controller(controller: &str, name: &str) -> io::Result<Self> {
        if let Some(root) = hierarchy(controller) {
            return Self::below(&root, name, Version::First);
        }
        let root = second().ok_or(io::ErrorKind::NotFound)?;
        let controller = if controller == "blkio" { "io" } else { controller };
        give_on(&root, controller)?;
        // In another one: while that gives the controller on, systemd cannot take it from the root.
        let mut outer = Self::below(&root, name, Version::Second)?;
        give_on(&outer.path, controller)?;
        let mut inner = Self::below(&outer.path, "inner", Version::Second)?;
        inner.made.append(&mut outer.made);
        Ok(inner)
    }

    fn below(root: &Path, path: &str, version: Version) -> io::Result<Self> {
        let mut cgroup = Self { path: root.join(path), version, made: Vec::new() };
        for folder in
            cgroup.path.clone().ancestors().take_while(|folder| *folder != root).collect::<Vec<_>>().iter().rev()
        {
            match fs::create_dir(folder) {
                Ok(()) => cgroup.made.insert(0, folder.to_path_buf()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Ok(cgroup)
    }

    /// The content of one of its files.
    ///
    /// # Panics
    /// If it cannot be read.
    #[must_use]
    pub fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    /// Sets one of its values.
    ///
    /// # Panics
    /// If the kernel does not take it.
    pub fn write(&self, file: &str, value: &str) {
        fs::write(self.path.join(file), value).unwrap_or_else(|error| panic!("{file}: {value:?}: {error}"));
    }

    /// Takes a process that runs already.
    ///
    /// # Panics
    /// If the kernel does not let it in.
    pub fn take(&self, pid: u32) {
        self.write("cgroup.procs", &pid.to_string());
    }

    /// The start of a command line: what follows runs in here.
    #[must_use]
    pub fn enter(&self) -> Vec<OsString> {
        let script = "echo $$ > \"$0/cgroup.procs\" && exec \"$@\"";
        ["/bin/sh".into(), "-c".into(), script.into(), self.path.clone().into_os_string()].to_vec()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for folder in &self.made {
            // A process that just ended is in it a moment longer.
            until("the cgroup is empty", || match fs::remove_dir(folder) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => None,
                // A cgroup within that another owner made is the owner's to remove.
                _ => Some(()),
            });
        }
    }
}

/// Has cgroups within `folder`, of version 2, get this controller.
///
/// # Errors
/// If it does not have it itself, or a process is in it.
pub(crate) fn give_on(folder: &Path, controller: &str) -> io::Result<()> {
    let lists = |file: &str| -> io::Result<bool> {
        Ok(fs::read_to_string(folder.join(file))?.split_whitespace().any(|one| one == controller))
    };
    if !lists("cgroup.controllers")? {
        let message = format!("{} has no controller {controller}", folder.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, message));
    }
    if lists("cgroup.subtree_control")? {
        return Ok(());
    }
    fs::write(folder.join("cgroup.subtree_control"), format!("+{controller}"))
}

/// Why the machine does not allow new cgroups.
#[must_use]
pub fn unmet() -> Option<String> {
    if !nix::unistd::geteuid().is_root() {
        return Some("needs root, for a cgroup".to_owned());
    }
    match Cgroup::make(&format!("nodewell-test-{}", std::process::id())) {
        Ok(_) => None,
        Err(error) => Some(format!("needs a cgroup hierarchy that takes new ones: {error}")),
    }
}

/// Why the machine gives no cgroup this controller.
#[must_use]
pub fn controller_unmet(controller: &str) -> Option<String> {
    unmet().or_else(|| {
        let name = format!("nodewell-test-{controller}-{}", std::process::id());
        let made = Cgroup::with_controller(controller, &name);
        made.err().map(|error| format!("needs the cgroup controller {controller}: {error}"))
    })
}

/// The hierarchy of version 1 that has this controller.
fn hierarchy(controller: &str) -> Option<PathBuf> {
    mounted(&|kind, options| kind == "cgroup" && options.split(',').any(|one| one == controller))
}

/// That of version 2.
fn second() -> Option<PathBuf> {
    mounted(&|kind, _| kind == "cgroup2")
}

/// systemd's own hierarchy of version 1 where there is one, else version 2.
fn root() -> Option<(PathBuf, Version)> {
    let first = hierarchy("name=systemd").map(|root| (root, Version::First));
    first.or_else(|| second().map(|root| (root, Version::Second)))
}

/// Where the first filesystem of the wanted type and options is mounted.
fn mounted(is: &dyn Fn(&str, &str) -> bool) -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/mounts").ok()?;
    mounts.lines().find_map(|line| {
        let [_, at, kind, options] = line.splitn(5, ' ').take(4).collect::<Vec<_>>().try_into().ok()?;
        is(kind, options).then(|| Path::new(at).to_owned())
    })
}
