//! A kernel module of our own, for faults that need a driver: built against the headers of the guests' kernel.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use nix::fcntl::{Flock, FlockArg};
use nodewell_tests::machine::machines;

use crate::{
    guest::Guest,
    kernel::{Kernel, output, with_path},
};

/// The memory controller that fails on request: `module/faulty_memory.c`.
pub const FAULTY_MEMORY: &str = "faulty_memory";

const SOURCES: [(&str, &str); 2] =
    [("Kbuild", include_str!("../module/Kbuild")), ("faulty_memory.c", include_str!("../module/faulty_memory.c"))];
const PROGRAMS: [(&str, &str); 2] = [("/usr/bin/make", "make"), ("/usr/bin/gcc", "gcc")];
/// What the headers' package depends on and the build reads: the rest of the headers, the programs of the build.
const PARTS: [&str; 2] = ["linux-headers-", "linux-kbuild-"];

/// Why no module can be built here.
pub(crate) fn unmet() -> Option<String> {
    let missing = PROGRAMS.into_iter().find(|(path, _)| !Path::new(path).exists());
    if let Some((path, package)) = missing {
        return Some(format!("needs {path} (Debian's {package})"));
    }
    Kernel::of_debian().and_then(|kernel| headers(&kernel)).err()
}

impl Guest {
    /// Loads a module of ours.
    ///
    /// # Panics
    /// If it cannot be built or is not taken.
    #[track_caller]
    pub fn load(&self, module: &str) {
        let kernel = Kernel::of_debian().unwrap();
        let built = headers(&kernel).and_then(|headers| build(&headers, module)).unwrap();
        self.put("/tmp/module.ko", &built);
        self.sh("insmod /tmp/module.ko && rm /tmp/module.ko");
    }
}

/// The folder of the kernel's headers, fetched at the first call on this machine.
fn headers(kernel: &Kernel) -> Result<PathBuf, String> {
    static HEADERS: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    HEADERS.get_or_init(|| find(&kernel.release)).clone()
}

fn find(release: &str) -> Result<PathBuf, String> {
    let folder = machines().join(format!("headers-{release}"));
    let lock = File::create(machines().join("headers.lock")).map_err(|error| error.to_string())?;
    let _lock = Flock::lock(lock, FlockArg::LockExclusive).map_err(|(_, error)| error.to_string())?;
    if !folder.is_dir() {
        fetch(release, &folder)?;
    }
    Ok(folder.join("usr/src").join(format!("linux-headers-{release}")))
}

fn fetch(release: &str, folder: &Path) -> Result<(), String> {
    let unfinished = folder.with_extension("unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).map_err(|error| with_path(&unfinished, error))?;
    }
    fs::create_dir_all(&unfinished).map_err(|error| with_path(&unfinished, error))?;
    let names = packages(release)?;
    output(Command::new("apt-get").args(["download", "--quiet"]).args(names).current_dir(&unfinished))?;
    for entry in fs::read_dir(&unfinished).map_err(|error| with_path(&unfinished, error))?.flatten() {
        output(Command::new("dpkg-deb").arg("--extract").arg(entry.path()).arg(&unfinished))?;
    }
    move_in(&unfinished.join("usr/src").join(format!("linux-headers-{release}")).join("Makefile"))?;
    fs::rename(&unfinished, folder).map_err(|error| with_path(folder, error))
}

fn packages(release: &str) -> Result<Vec<String>, String> {
    let name = format!("linux-headers-{release}");
    let output = output(Command::new("apt-cache").args(["depends", &name]))?;
    let output = String::from_utf8_lossy(&output);
    let depends = output.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
    let parts = depends.filter(|package| PARTS.iter().any(|part| package.starts_with(part))).map(str::to_owned);
    Ok([name.clone()].into_iter().chain(parts).collect())
}

/// It includes the other package's by its absolute path: here both lie elsewhere.
fn move_in(makefile: &Path) -> Result<(), String> {
    let text = fs::read_to_string(makefile).map_err(|error| with_path(makefile, error))?;
    fs::write(makefile, text.replace("/usr/src/", "../")).map_err(|error| with_path(makefile, error))
}

/// Without what debuggers read: it travels as text.
fn build(headers: &Path, module: &str) -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    for (name, text) in SOURCES {
        fs::write(folder.path().join(name), text).map_err(|error| error.to_string())?;
    }
    let mut make = Command::new("make");
    make.arg("-C").arg(headers).arg(format!("M={}", folder.path().display()));
    // Whatever compiler the kernel was built with, this machine has this one.
    output(make.args(["CC=gcc", "modules"]))?;
    let built = folder.path().join(format!("{module}.ko"));
    output(Command::new("strip").arg("--strip-debug").arg(&built))?;
    fs::read(&built).map_err(|error| with_path(&built, error))
}
