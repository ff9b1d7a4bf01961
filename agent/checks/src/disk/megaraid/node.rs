//! The device through which the driver takes questions. The kernel makes no file for it: each tool makes it for itself, by the
//! number that is in `/proc/devices`, at one and the same path.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
};

use nix::sys::stat::{Mode, SFlag, major, makedev, mknod};

use crate::{
    disk::part::read_error,
    probe::{ReadError, Roots},
};

/// As smartmontools and the vendor's tools call it.
const NAME: &str = "megaraid_sas_ioctl_node";
/// The driver's name for its number (drivers/scsi/megaraid/megaraid_sas_base.c, `register_chrdev`).
const DEVICE: &str = "megaraid_sas_ioctl";
pub(super) const RIGHT: &str = "CAP_SYS_ADMIN and a readable /dev/megaraid_sas_ioctl_node";
/// systemd looks up which devices a unit may open only at its start, and the file is made then.
const LATE: &str = "where the driver was loaded after nodewell-disk.service started, restart that";

/// What [`make`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// The driver is not loaded.
    NoDriver,
    WasThere,
    Made,
}

/// Makes the file, if the driver is there; one of a number that the driver had before is replaced. Root's alone: who may open
/// it, and has `CAP_SYS_ADMIN`, may erase every volume.
pub fn make(roots: &Roots) -> io::Result<Made> {
    let Some(number) = number(&roots.proc)? else { return Ok(Made::NoDriver) };
    let path = path(roots);
    match state(&path, number) {
        State::Right => return Ok(Made::WasThere),
        State::OfAnother => fs::remove_file(&path)?,
        State::Absent => {}
        State::NoDevice => return Err(io::Error::other(format!("{} is no device", path.display()))),
    }
    mknod(&path, SFlag::S_IFCHR, Mode::S_IRUSR | Mode::S_IWUSR, makedev(number, 0))?;
    Ok(Made::Made)
}

/// Opens it, once it is sure that it is the driver's: another's device would be sent an order that it may understand.
pub(super) fn open(roots: &Roots) -> Result<File, ReadError> {
    let path = path(roots);
    let failed = |why: &str| ReadError::Failed { message: format!("{}: {why}", path.display()) };
    let denied = |why: &str| ReadError::Denied { message: format!("{} {why}; {LATE}", path.display()) };
    let number = match number(&roots.proc) {
        Ok(Some(number)) => number,
        Ok(None) => return Err(failed(&format!("/proc/devices has no {DEVICE}"))),
        Err(error) => return Err(failed(&format!("/proc/devices: {error}"))),
    };
    match state(&path, number) {
        State::Right => File::open(&path).map_err(|error| match read_error(NAME, RIGHT, &error) {
            ReadError::Denied { message } => ReadError::Denied { message: format!("{message}; {LATE}") },
            // It is there, and a card too.
            _ => failed(&error.to_string()),
        }),
        State::OfAnother => Err(denied("has a number that the driver had before")),
        State::NoDevice => Err(failed("no device")),
        State::Absent => Err(denied("is not there")),
    }
}

fn path(roots: &Roots) -> PathBuf {
    roots.dev.join(NAME)
}

/// What lies at the path.
enum State {
    Right,
    OfAnother,
    NoDevice,
    Absent,
}

fn state(path: &Path, number: u64) -> State {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_char_device() => State::NoDevice,
        Ok(found) if major(found.rdev()) == number => State::Right,
        Ok(_) => State::OfAnother,
        Err(_) => State::Absent,
    }
}

/// The driver's number among the character devices; block devices follow them in the file.
fn number(proc: &Path) -> io::Result<Option<u64>> {
    let devices = fs::read_to_string(proc.join("devices"))?;
    let character = devices.split("Block devices:").next().unwrap_or_default();
    let numbered = |line: &str| line.trim().strip_suffix(DEVICE)?.trim_end().parse().ok();
    Ok(character.lines().find_map(numbered))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICES: &str = "Character devices:\n  1 mem\n239 megaraid_sas_ioctl\n240 my_megaraid_sas_ioctl\n\nBlock devices:\n  \
                           8 sd\n";

    fn roots(folder: &tempfile::TempDir, devices: &str) -> Roots {
        let root = folder.path();
        let roots = Roots { proc: root.join("proc"), dev: root.join("dev"), ..Roots::default() };
        fs::create_dir_all(&roots.proc).unwrap();
        fs::create_dir_all(&roots.dev).unwrap();
        fs::write(roots.proc.join("devices"), devices).unwrap();
        roots
    }

    #[test]
    fn the_number_is_the_drivers_own() {
        let folder = tempfile::tempdir().unwrap();
        let number_of = |devices: &str| number(&roots(&folder, devices).proc).unwrap();
        assert_eq!(number_of(DEVICES), Some(239));
        assert_eq!(number_of("Character devices:\n240 my_megaraid_sas_ioctl\n"), None);
        assert_eq!(number_of("Character devices:\n\nBlock devices:\n239 megaraid_sas_ioctl\n"), None);
        assert_eq!(number_of(""), None);
    }

    #[test]
    fn without_the_driver_nothing_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let roots = roots(&folder, "Character devices:\n  1 mem\n");
        assert_eq!(make(&roots).unwrap(), Made::NoDriver);
        assert!(!path(&roots).exists());
        assert!(matches!(open(&roots), Err(ReadError::Failed { .. })));
    }

    #[test]
    fn what_is_not_there_is_a_missing_right_and_what_is_no_device_is_neither_opened_nor_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let roots = roots(&folder, DEVICES);
        let Err(ReadError::Denied { message }) = open(&roots) else { panic!("it is not there") };
        assert!(message.contains("is not there; where the driver was loaded after"), "{message}");
        fs::write(path(&roots), "").unwrap();
        assert!(matches!(open(&roots), Err(ReadError::Failed { .. })));
        assert!(make(&roots).is_err());
    }
}
