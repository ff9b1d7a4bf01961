//! Volumes of RAID controllers whose driver shows their state in sysfs (drivers/scsi/raid_class.c): mpt3sas, myrb and
//! myrs. Reading it asks the controller.

use std::path::{Path, PathBuf};

use super::{reading::RaidVolumeReading, sysfs};
use crate::probe::ReadError;

/// What the class makes below a volume's SCSI device, `device` of its block device.
const CLASS: &str = "raid_devices";

/// Whether the SCSI device at `device` is such a volume.
pub(super) fn is_one(device: &Path) -> bool {
    folder(device).is_some()
}

fn folder(device: &Path) -> Option<PathBuf> {
    let class = device.join(CLASS);
    sysfs::names(&class).first().map(|name| class.join(name))
}

/// The volume `name`, such as `sda`.
pub(super) fn read(device: &Path, name: &str) -> Result<RaidVolumeReading, ReadError> {
    let folder = folder(device).ok_or_else(|| ReadError::Gone { what: name.to_owned() })?;
    let state = sysfs::word(&folder, "state");
    let state = state.ok_or_else(|| ReadError::Failed { message: format!("{name}: its driver shows no state") })?;
    // The header of the class counts to 10,000 (RAID_MAX_RESYNC), the three drivers to 100.
    let done = sysfs::number::<u8>(&folder, "resync").filter(|percent| *percent <= 100 && state == "resyncing");
    Ok(RaidVolumeReading { level: sysfs::word(&folder, "level").unwrap_or_default(), done_percent: done, state })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_volumes_state_is_its_drivers() {
        let device = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let folder = device.path().join(CLASS).join("0:1:0:0");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(name), text).unwrap();
        };
        let read = || read(device.path(), "sda");
        assert!(!is_one(device.path()) && matches!(read(), Err(ReadError::Gone { .. })));
        write("level", "raid1\n");
        assert!(is_one(device.path()) && matches!(read(), Err(ReadError::Failed { .. })));
        let volume = |state: &str, done_percent| RaidVolumeReading {
            state: state.to_owned(),
            level: "raid1".to_owned(),
            done_percent,
        };
        write("state", "active\n");
        write("resync", "0\n");
        assert_eq!(read(), Ok(volume("active", None)));
        write("state", "resyncing\n");
        write("resync", "42\n");
        assert_eq!(read(), Ok(volume("resyncing", Some(42))));
        write("resync", "10000\n");
        assert_eq!(read(), Ok(volume("resyncing", None)));
    }
}
