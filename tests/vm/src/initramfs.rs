//! The root of the guests: busybox, a few modules, and our programs with the libraries that they need.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{self, Command},
    sync::OnceLock,
};

use nodewell_tests::{cli::binary, machine::machines};

use crate::{
    archive::Archive,
    kernel::{Kernel, output},
    modules::{Index, Module},
};

const INIT: &str = include_str!("init.sh");
/// What serves the port `shell`; a whole system runs it as a service.
pub(crate) const SHELL: &str = include_str!("shell.sh");
const PROGRAMS: [&str; 3] = ["nodewelld", "nodewell-checks", "nodewell"];
/// Of this machine, if it has them; a case that needs one declares it.
const OTHERS: [&str; 5] = [RDMA, SETPRIV, IPMITOOL, DMSETUP, MDADM];
/// Makes ports of fabrics.
pub(crate) const RDMA: &str = "/usr/bin/rdma";
/// Starts a program with some capabilities and no others.
pub(crate) const SETPRIV: &str = "/usr/bin/setpriv";
/// Writes entries into a BMC's event log.
pub(crate) const IPMITOOL: &str = "/usr/bin/ipmitool";
/// Makes maps of the device mapper.
pub(crate) const DMSETUP: &str = "/usr/sbin/dmsetup";
/// Makes software RAID arrays.
pub(crate) const MDADM: &str = "/usr/sbin/mdadm";
const FOLDERS: [&str; 9] = ["proc", "sys", "dev", "run", "tmp", "mnt", "etc", "root", "var/lib"];
/// What cases load by name, with whatever these depend on.
const MODULES: &[&str] = &[
    "virtio_pci",
    "virtio_console",
    "virtio_blk",
    "nvme",
    "ahci",
    "sd_mod",
    "sg",
    "ext4",
    "loop",
    "virtio_net",
    "aer_inject",
    "edac_mce_amd",
    "virtio_scsi",
    "rdma_rxe",
    "nfsd",
    "nfsv4",
    "i2c-dev",
    "i2c-stub",
    "max6639",
    "ipmi_si",
    "ipmi_devintf",
    "megaraid_sas",
    "dm-multipath",
    "dm-round-robin",
    "dm-thin-pool",
    "raid1",
];
/// Generic sums, which the kernel asks for by name: ext4 and a thin pool do not load without the first. Kernels older
/// and newer than 6.1 have some of them in other ways: one that is nowhere is no fault.
const SUMS: &[&str] = &["crc32c_generic", "crct10dif_generic", "crc64_rocksoft_generic", "crc32_generic"];

/// Where it lies; made once for each run of the tests, from the programs as they are now.
///
/// # Panics
/// If something of it is missing.
pub(crate) fn path(kernel: &Kernel) -> PathBuf {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| make(kernel).unwrap_or_else(|error| panic!("no initramfs: {error}"))).clone()
}

/// Whether a guest of this kernel can load what a case names.
///
/// # Errors
/// Which modules it does not have, and what to do.
pub(crate) fn has_modules(kernel: &Kernel, names: &[&str]) -> Result<(), String> {
    let needed = names.iter().copied().filter(|name| !SUMS.contains(name));
    match needed.clone().find(|name| !MODULES.contains(name)) {
        Some(name) => Err(format!("no guest gets the module {name}: put it into MODULES of tests/vm/src/initramfs.rs")),
        None => kernel.has_modules(needed),
    }
}

fn make(kernel: &Kernel) -> Result<PathBuf, String> {
    let mut archive = Archive::default();
    FOLDERS.iter().for_each(|folder| archive.folder(folder));
    archive.file("init", INIT.as_bytes());
    archive.file("shell", SHELL.as_bytes());
    archive.file("bin/busybox", &read(Path::new("/bin/busybox"))?);
    archive.link("sbin", "bin");
    archive.file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n");
    archive.file("etc/group", b"root:x:0:\n");
    add_programs(&mut archive)?;
    add_modules(&mut archive, kernel)?;
    // Others may be booting from the one before.
    let (path, own) = (machines().join("initramfs"), machines().join(format!("initramfs.{}", process::id())));
    fs::write(&own, archive.finish()).map_err(|error| error.to_string())?;
    fs::rename(&own, &path).map_err(|error| error.to_string())?;
    Ok(path)
}

fn add_programs(archive: &mut Archive) -> Result<(), String> {
    let mut libraries = BTreeSet::new();
    for name in PROGRAMS {
        let program = binary(name);
        archive.file(&format!("usr/bin/{name}"), &stripped(&program)?);
        libraries.extend(libraries_of(&program)?);
    }
    for path in OTHERS.map(Path::new).into_iter().filter(|path| path.exists()) {
        archive.file(&path.display().to_string(), &read(path)?);
        libraries.extend(libraries_of(path)?);
    }
    for library in libraries {
        archive.file(&library, &read(Path::new(&library))?);
    }
    Ok(())
}

/// Without what debuggers read: a guest has little memory.
fn stripped(program: &Path) -> Result<Vec<u8>, String> {
    let copy = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    output(Command::new("strip").arg("-o").arg(copy.path()).arg(program))?;
    read(copy.path())
}

/// The paths in the output of `ldd`; what the kernel brings itself has none.
fn libraries_of(program: &Path) -> Result<Vec<String>, String> {
    let output = output(Command::new("ldd").arg(program))?;
    let output = String::from_utf8_lossy(&output);
    Ok(output.split_whitespace().filter(|word| word.starts_with('/')).map(str::to_owned).collect())
}

/// What a kernel has nowhere is left out: a case that loads it fails by its name.
fn add_modules(archive: &mut Archive, kernel: &Kernel) -> Result<(), String> {
    let (folder, index) = (format!("lib/modules/{}", kernel.release), Index::read(&kernel.modules())?);
    let (mut files, mut lines) = (BTreeSet::new(), String::new());
    for name in MODULES.iter().chain(SUMS) {
        let Module::File { path, needs } = index.find(name) else { continue };
        files.insert(path);
        files.extend(needs.split_whitespace());
        lines.push_str(&format!("{path}:{needs}\n"));
    }
    archive.file(&format!("{folder}/modules.dep"), lines.as_bytes());
    // By it modprobe knows what needs no file.
    archive.file(&format!("{folder}/modules.builtin"), &read(&kernel.modules().join("modules.builtin"))?);
    for path in files {
        archive.file(&format!("{folder}/{path}"), &read(&kernel.modules().join(path))?);
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}
