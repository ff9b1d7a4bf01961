//! The trees that machines boot from: made once by mmdebstrap from Debian's packages, and cached in `target/machines`.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Mutex,
};

use nix::{
    fcntl::{Flock, FlockArg},
    unistd::geteuid,
};

/// A Debian release; what matters is the version of its systemd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// Debian 11, systemd 247: the oldest that the base units are for.
    Bullseye,
    /// Debian 12, systemd 252.
    Bookworm,
    /// Debian 13, systemd 257.
    Trixie,
}

/// What the cases need inside beside systemd: curl, for it is a client of ours.
const PACKAGES: &str = "systemd,systemd-sysv,dbus,curl,ca-certificates";

impl Release {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bullseye => "bullseye",
            Self::Bookworm => "bookworm",
            Self::Trixie => "trixie",
        }
    }

    /// The version of systemd in it.
    #[must_use]
    pub fn systemd(self) -> u32 {
        match self {
            Self::Bullseye => 247,
            Self::Bookworm => 252,
            Self::Trixie => 257,
        }
    }
}

/// A folder to boot machines from.
#[derive(Debug, Clone, Copy)]
pub struct Tree {
    /// What it is called in the cache.
    name: &'static str,
    release: Release,
    /// With commas between them.
    packages: &'static str,
}

impl Tree {
    /// One with systemd, and what the cases need beside it.
    #[must_use]
    pub fn of(release: Release) -> Self {
        Self { name: release.name(), release, packages: "" }
    }

    /// The same with these packages too, as `name` in the cache.
    #[must_use]
    pub const fn with(name: &'static str, release: Release, packages: &'static str) -> Self {
        Self { name, release, packages }
    }

    /// Where it lies in the cache, if it was made before of these packages.
    #[must_use]
    pub fn made(self) -> Option<PathBuf> {
        let tree = machines().join(self.name);
        // One without a list is from before there were lists.
        let is_current = || fs::read_to_string(list_of(&tree)).map_or(true, |list| list == self.list());
        (tree.is_dir() && is_current()).then_some(tree)
    }

    /// The packages, with commas between them.
    fn list(self) -> String {
        let lists = [PACKAGES, self.packages].into_iter().filter(|list| !list.is_empty());
        lists.collect::<Vec<_>>().join(",")
    }

    /// Where it lies; made now if it is not there.
    ///
    /// # Errors
    /// With mmdebstrap's output.
    pub fn path(self) -> Result<PathBuf, String> {
        // One at a time, among threads and among processes.
        static MAKING: Mutex<()> = Mutex::new(());
        let _thread = MAKING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let folder = machines();
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let lock = File::create(folder.join("lock")).map_err(|error| error.to_string())?;
        let _process = Flock::lock(lock, FlockArg::LockExclusive).map_err(|(_, error)| error.to_string())?;
        let tree = folder.join(self.name);
        let failed = |error: io::Error| format!("{}: {error}", tree.display());
        if self.made().is_none() {
            if tree.is_dir() {
                fs::remove_dir_all(&tree).map_err(failed)?;
            }
            match fs::remove_file(list_of(&tree)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                _ => {}
            }
            self.make(&tree)?;
        }
        self.write_list(&tree).map_err(failed)?;
        Ok(tree)
    }

    /// Whole or not at all, and not again: a process that is killed meanwhile would leave a list of nothing, by which the
    /// next would make the tree again while machines run on it.
    fn write_list(self, tree: &Path) -> io::Result<()> {
        let list = list_of(tree);
        if list.exists() {
            return Ok(());
        }
        let unfinished = list.with_extension("packages-unfinished");
        fs::write(&unfinished, self.list())?;
        fs::rename(unfinished, list)
    }

    fn make(self, tree: &Path) -> Result<(), String> {
        let unfinished = tree.with_extension("unfinished");
        let failed = |error: io::Error| format!("{}: {error}", unfinished.display());
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished).map_err(failed)?;
        }
        let release = self.release.name();
        let output = Command::new("mmdebstrap")
            .args(["--quiet", "--variant=minbase", &format!("--include={}", self.list()), release])
            .arg(&unfinished)
            .stdin(Stdio::null())
            .output()
            .map_err(failed)?;
        if !output.status.success() {
            let output = String::from_utf8_lossy(&output.stderr);
            let last = output.lines().rfind(|line| line.starts_with("E:")).unwrap_or("no reason given");
            return Err(format!("mmdebstrap cannot make Debian {release}: {last}"));
        }
        fs::rename(&unfinished, tree).map_err(failed)
    }
}

/// The file beside a tree that lists what it was made of: its name says nothing of that.
fn list_of(tree: &Path) -> PathBuf {
    tree.with_extension("packages")
}

/// `target/machines` of this build: what machines are made from, and what is cached for all runs.
///
/// # Panics
/// If this program does not lie where cargo builds.
#[must_use]
pub fn machines() -> PathBuf {
    let own = std::env::current_exe().expect("a running program has a path");
    // Tests lie in target/PROFILE/deps, the bench in target/PROFILE.
    let profile = own.ancestors().skip(1).find(|folder| !folder.ends_with("deps"));
    profile.and_then(Path::parent).expect("it lies in target/PROFILE").join("machines")
}

/// Why this machine cannot boot one of `tree`.
#[must_use]
pub fn unmet(tree: Tree) -> Option<String> {
    if !geteuid().is_root() {
        return Some("needs root, to boot a machine in a container".to_owned());
    }
    let needed = [("/usr/bin/systemd-nspawn", "systemd-container"), ("/usr/bin/nsenter", "util-linux")];
    let missing = needed.into_iter().find(|(path, _)| !Path::new(path).exists());
    if let Some((path, package)) = missing {
        return Some(format!("needs {path} (Debian's {package})"));
    }
    if tree.made().is_none() && !Path::new("/usr/bin/mmdebstrap").exists() {
        return Some("needs /usr/bin/mmdebstrap (Debian's mmdebstrap)".to_owned());
    }
    tree.path().err()
}
