//! The root of the guests: busybox, a few modules, and our programs with the libraries that they need.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{self, Command},
    sync::OnceLock,
};

use nodewell_tests::{cli::binary, machine::machines};

use crate::{
    archive::Archive,
    kernel::{Kernel, output},
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
/// What cases load by name, with whatever these depend on. The generic sums are asked for by name in the kernel.
const MODULES: &[&str] = &[
    "virtio_pci",
    "virtio_console",
    "virtio_blk",
    "nvme",
    "ahci",
    "sd_mod",
    "sg",
    "ext4",
    "crc32c_generic",
    "crct10dif_generic",
    "crc64_rocksoft_generic",
    "loop",
    "virtio_net",
    "aer_inject",
    "edac_mce_amd",
    "virtio_scsi",
    "crc32_generic",
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
    // The kernel's soft dependency of the checksums that a thin pool keeps: without it the pool's own module does not load.
    "crc32c_generic",
    "dm-thin-pool",
    "raid1",
];

/// Where it lies; made once for each run of the tests, from the programs as they are now.
///
/// # Panics
/// If something of it is missing.
pub(crate) fn path(kernel: &Kernel) -> PathBuf {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| make(kernel).unwrap_or_else(|error| panic!("no initramfs: {error}"))).clone()
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

fn add_modules(archive: &mut Archive, kernel: &Kernel) -> Result<(), String> {
    let folder = format!("lib/modules/{}", kernel.release);
    let listed = read(&kernel.modules().join("modules.dep"))?;
    let listed = String::from_utf8_lossy(&listed);
    let dependencies: BTreeMap<&str, &str> = listed.lines().filter_map(|line| line.split_once(':')).collect();
    let (mut needed, mut lines) = (BTreeSet::new(), String::new());
    for name in MODULES {
        let found = dependencies.iter().find(|(path, _)| path.ends_with(&format!("/{name}.ko")));
        // Another kernel has it built in, or not at all.
        let Some((path, others)) = found else { continue };
        needed.insert(*path);
        needed.extend(others.split_whitespace());
        lines.push_str(&format!("{path}:{others}\n"));
    }
    archive.file(&format!("{folder}/modules.dep"), lines.as_bytes());
    for path in needed {
        archive.file(&format!("{folder}/{path}"), &read(&kernel.modules().join(path))?);
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}
