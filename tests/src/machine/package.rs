//! The package under test: built from this tree once a test process. The Debian package may be named by `NODEWELL_DEB` (and
//! `NODEWELL_NEWER_DEB` for one to upgrade to).

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Mutex, OnceLock, PoisonError},
};

use tempfile::TempDir;

use super::Inside;
use crate::leftovers;

/// As Debian calls what this is compiled for.
const ARCHITECTURE: &str = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
static OWN: Mutex<Option<TempDir>> = Mutex::new(None);

/// A package file.
#[derive(Debug, Clone, Copy)]
pub struct Package(&'static Path);

impl Package {
    /// The agent's package as this tree makes it.
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    pub fn built() -> Self {
        static BUILT: OnceLock<PathBuf> = OnceLock::new();
        Self(BUILT.get_or_init(|| std::env::var_os("NODEWELL_DEB").map_or_else(|| build_deb(&[]), PathBuf::from)))
    }

    /// The same with a higher version, to upgrade to.
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    pub fn newer() -> Self {
        static NEWER: OnceLock<PathBuf> = OnceLock::new();
        let named = || std::env::var_os("NODEWELL_NEWER_DEB").map(PathBuf::from);
        Self(NEWER.get_or_init(|| named().unwrap_or_else(|| build_deb(&[("VERSION", "99.0.0")]))))
    }
}

impl Package {
    /// Where it lies.
    #[must_use]
    pub fn path(self) -> &'static Path {
        self.0
    }

    /// The controller's package, which is made beside the agent's.
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    pub fn controller() -> Self {
        static BUILT: OnceLock<PathBuf> = OnceLock::new();
        Self(BUILT.get_or_init(|| of_the_controller(Self::built().0)))
    }

    /// The same with a higher version.
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    pub fn newer_controller() -> Self {
        static NEWER: OnceLock<PathBuf> = OnceLock::new();
        Self(NEWER.get_or_init(|| of_the_controller(Self::newer().0)))
    }
}

fn of_the_controller(agent: &Path) -> PathBuf {
    let name = agent.file_name().expect("a package is a file").to_string_lossy();
    agent.with_file_name(name.replacen("nodewell_", "nodewell-controller_", 1))
}

impl Inside {
    /// Installs `package` as its administrator would, whichever version is there.
    ///
    /// # Panics
    /// If apt refuses.
    pub fn install(&self, package: Package) {
        self.copy(package.0, "/root/package.deb");
        self.sh(
            "DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --allow-downgrades /root/package.deb 2>&1",
        );
    }
}

/// The agent's rpm as this tree makes it.
///
/// # Panics
/// If it cannot be made.
#[must_use]
pub fn built_rpm() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let file = format!("nodewell-{}-1.{}.rpm", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
    BUILT.get_or_init(|| build("rpm", &[], |packages| own_copy(&packages.join(file))))
}

fn build_deb(variables: &[(&str, &str)]) -> PathBuf {
    let version = variables.first().map_or(env!("CARGO_PKG_VERSION"), |(_, version)| version);
    build("deb", variables, |packages| {
        let agent = packages.join(format!("nodewell_{version}-1_{ARCHITECTURE}.deb"));
        own_copy(&of_the_controller(&agent));
        own_copy(&agent)
    })
}

/// Builds all packages of one format, and gives what `copy` makes of the folder that they are in: afterwards another process
/// writes them again.
fn build(format: &str, variables: &[(&str, &str)], copy: impl FnOnce(&Path) -> PathBuf) -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests is a folder of the workspace");
    let packages = workspace.join("target/packages");
    // Several test binaries run side by side, and the packages are put together in one folder.
    fs::create_dir_all(&packages).unwrap();
    let lock = File::create(packages.join("lock")).unwrap();
    lock.lock().unwrap();
    let mut command = nodewell_kit::calling_cargo(workspace.join("packaging/build"), workspace);
    command.arg(format).env("PROFILE", "dev").envs(variables.iter().copied());
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "packaging/build {format}: {}", String::from_utf8_lossy(&output.stderr));
    copy(&packages)
}

/// A copy of a package for this process.
fn own_copy(package: &Path) -> PathBuf {
    let mut folder = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = folder.get_or_insert_with(|| leftovers::folder("packages")).path();
    let copy = folder.join(package.file_name().expect("a package is a file"));
    fs::copy(package, &copy).unwrap_or_else(|error| panic!("{}: {error}", package.display()));
    copy
}

/// Removes them; the runner calls it when all cases are through.
pub fn remove_copies() {
    drop(OWN.lock().unwrap_or_else(PoisonError::into_inner).take());
}
