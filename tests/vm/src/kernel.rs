//! The kernel of the guests: Debian's own package, unpacked once and cached in `target/machines`.

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use nix::fcntl::{Flock, FlockArg};
use nodewell_tests::machine::machines;

use crate::{modules::Index, packed};

/// Names a kernel package to run in place of Debian's newest one.
const NAMED: &str = "NODEWELL_KERNEL_DEB";
/// The package that always depends on the newest kernel.
const NEWEST: &str = "linux-image-amd64";

/// An unpacked kernel.
#[derive(Debug, Clone)]
pub(crate) struct Kernel {
    /// `6.1.0-50-amd64`
    pub(crate) release: String,
    folder: PathBuf,
}

impl Kernel {
    /// The one that `NODEWELL_KERNEL_DEB` names, else Debian's newest; fetched at the first call on this machine.
    ///
    /// # Errors
    /// A message, if it cannot be had.
    pub(crate) fn of_debian() -> Result<Self, String> {
        static KERNEL: OnceLock<Result<Kernel, String>> = OnceLock::new();
        KERNEL.get_or_init(find).clone()
    }

    /// The unpacked image: QEMU starts it directly (PVH), which spares the guest seconds of unpacking.
    pub(crate) fn image(&self) -> PathBuf {
        self.folder.join("vmlinux")
    }

    /// `lib/modules/RELEASE`.
    pub(crate) fn modules(&self) -> PathBuf {
        self.folder.join("lib/modules").join(&self.release)
    }

    /// Whether it has all of these modules, in files or built in.
    ///
    /// # Errors
    /// Which it does not have, and what to do.
    pub(crate) fn has_modules<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<(), String> {
        Index::read(&self.modules())?.has_all(names).map_err(|missing| {
            let (release, folder) = (&self.release, self.folder.display());
            format!(
                "kernel {release} has no module {missing}; name another package in {NAMED}, or remove {folder} if an \
                 older checkout has unpacked it"
            )
        })
    }
}

fn find() -> Result<Kernel, String> {
    let package = env::var_os(NAMED).map(PathBuf::from);
    let stem = package.as_deref().and_then(Path::file_stem).unwrap_or("newest".as_ref());
    let folder = machines().join(format!("kernel-{}", stem.display()));
    fs::create_dir_all(machines()).map_err(|error| with_path(&machines(), error))?;
    // One at a time among processes.
    let lock = File::create(machines().join("kernel.lock")).map_err(|error| error.to_string())?;
    let _lock = Flock::lock(lock, FlockArg::LockExclusive).map_err(|(_, error)| error.to_string())?;
    if !folder.is_dir() {
        make(package, &folder)?;
    }
    let release = first_name(&folder.join("lib/modules"))?;
    Ok(Kernel { release, folder })
}

fn make(package: Option<PathBuf>, folder: &Path) -> Result<(), String> {
    let unfinished = folder.with_extension("unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).map_err(|error| with_path(&unfinished, error))?;
    }
    fs::create_dir_all(&unfinished).map_err(|error| with_path(&unfinished, error))?;
    let package = package.map_or_else(|| download(&unfinished), Ok)?;
    output(Command::new("dpkg-deb").arg("--extract").arg(&package).arg(&unfinished))?;
    move_modules(&unfinished)?;
    let release = first_name(&unfinished.join("lib/modules"))?;
    packed::unpack_modules(&unfinished.join("lib/modules").join(&release))?;
    // Paths relative to where it runs: busybox's looks below the folder that it is given.
    output(Command::new("/bin/busybox").args(["depmod", "-b", "."]).arg(&release).current_dir(&unfinished))?;
    unpack_image(&unfinished.join("boot").join(format!("vmlinuz-{release}")), &unfinished.join("vmlinux"))?;
    fs::rename(&unfinished, folder).map_err(|error| with_path(folder, error))
}

fn download(folder: &Path) -> Result<PathBuf, String> {
    let depends = output(Command::new("apt-cache").args(["depends", NEWEST]))?;
    let depends = String::from_utf8_lossy(&depends);
    let name = depends.lines().find_map(|line| line.trim().strip_prefix("Depends: "));
    let name =
        name.ok_or_else(|| format!("apt-cache knows no {NEWEST}: run apt-get update, or name one in {NAMED}"))?;
    output(Command::new("apt-get").args(["download", "--quiet", name]).current_dir(folder))?;
    Ok(folder.join(first_name(folder)?))
}

fn unpack_image(file: &Path, image: &Path) -> Result<(), String> {
    let bytes = fs::read(file).map_err(|error| with_path(file, error))?;
    let kernel = packed::kernel_of(&bytes).map_err(|error| format!("{}: {error}", file.display()))?;
    fs::write(image, kernel).map_err(|error| with_path(image, error))
}

/// To where depmod and guests look: from Debian 13 on the package has it below usr.
fn move_modules(root: &Path) -> Result<(), String> {
    let (merged, own) = (root.join("usr/lib/modules"), root.join("lib/modules"));
    if own.exists() || !merged.exists() {
        return Ok(());
    }
    fs::create_dir_all(root.join("lib")).map_err(|error| with_path(&own, error))?;
    fs::rename(&merged, &own).map_err(|error| with_path(&merged, error))
}

fn first_name(folder: &Path) -> Result<String, String> {
    let entry = fs::read_dir(folder).map_err(|error| with_path(folder, error))?.next();
    let entry = entry.ok_or_else(|| format!("{} is empty", folder.display()))?;
    Ok(entry.map_err(|error| with_path(folder, error))?.file_name().to_string_lossy().into_owned())
}

/// Runs to its end; gives what it wrote.
pub(crate) fn output(command: &mut Command) -> Result<Vec<u8>, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let output = String::from_utf8_lossy(&output.stderr);
    Err(format!("{program}: {}", output.trim().lines().last().unwrap_or("it failed and gave no reason")))
}

pub(crate) fn with_path(path: &Path, error: std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
