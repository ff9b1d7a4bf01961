//! Control groups that a test makes, and processes that start in them.

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
    /// The innermost first.
    made: Vec<PathBuf>,
}

impl Cgroup {
    /// Makes `path` in the hierarchy that systemd would use.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn make(path: &str) -> io::Result<Self> {
        Self::below(&root().ok_or(io::ErrorKind::NotFound)?, path)
    }

    /// Makes `path` below the controller's own hierarchy of version 1, such as `memory`.
    ///
    /// # Errors
    /// If there is none, or it cannot be made.
    pub fn with_controller(controller: &str, path: &str) -> io::Result<Self> {
        Self::below(&hierarchy(controller).ok_or(io::ErrorKind::NotFound)?, path)
    }

    fn below(root: &Path, path: &str) -> io::Result<Self> {
        let mut cgroup = Self { path: root.join(path), made: Vec::new() };
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
        fs::read_to_string(self.path.join(file)).unwrap()
    }

    /// Sets one of its values.
    ///
    /// # Panics
    /// If the kernel does not take it.
    pub fn write(&self, file: &str, value: &str) {
        fs::write(self.path.join(file), value).unwrap_or_else(|error| panic!("{file}: {value:?}: {error}"));
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

/// Why the machine has no controller of version 1 for this.
#[must_use]
pub fn controller_unmet(controller: &str) -> Option<String> {
    unmet().or_else(|| {
        hierarchy(controller).is_none().then(|| format!("needs the cgroup controller {controller} of version 1"))
    })
}

/// The hierarchy of version 1 that has this controller.
fn hierarchy(controller: &str) -> Option<PathBuf> {
    mounted(&|kind, options| kind == "cgroup" && options.split(',').any(|one| one == controller))
}

/// systemd's own hierarchy of version 1 where there is one, else version 2.
fn root() -> Option<PathBuf> {
    hierarchy("name=systemd").or_else(|| mounted(&|kind, _| kind == "cgroup2"))
}

/// Where the first filesystem of the wanted type and options is mounted.
fn mounted(is: &dyn Fn(&str, &str) -> bool) -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/mounts").ok()?;
    mounts.lines().find_map(|line| {
        let [_, at, kind, options] = line.splitn(5, ' ').take(4).collect::<Vec<_>>().try_into().ok()?;
        is(kind, options).then(|| Path::new(at).to_owned())
    })
}
