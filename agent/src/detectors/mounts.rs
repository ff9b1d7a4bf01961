//! Which mounts a block device has.

use std::path::Path;

pub use nodewell_checks::mounts::mountinfo::{Mount, read};

/// The mounts of block device `name` (`sda1`, `dm-3`), by its number in sysfs, else by the name in the source.
#[must_use]
pub fn of_device<'a>(mounts: &'a [Mount], sys_root: &Path, name: &str) -> Vec<&'a Mount> {
    let number = device_number(sys_root, name);
    let path = format!("/dev/{name}");
    mounts
        .iter()
        .filter(|mount| Some(&mount.device_number) == number.as_ref() || mount.source == path || mount.source == name)
        .collect()
}

/// `major:minor` of a block device; `None` if the node has no such device.
#[must_use]
pub fn device_number(sys_root: &Path, name: &str) -> Option<String> {
    let plain = !name.is_empty() && !name.contains('/') && !name.starts_with('.');
    let text = plain.then(|| std::fs::read_to_string(sys_root.join("class/block").join(name).join("dev")).ok())??;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use nodewell_checks::mounts::mountinfo::parse;

    use super::*;

    const ROOT: &str = "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard";

    #[test]
    fn a_device_is_found_by_number_and_by_name() {
        let sys = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(sys.path().join("class/block/dm-0")).unwrap();
        std::fs::write(sys.path().join("class/block/dm-0/dev"), "254:0\n").unwrap();
        let mounts = parse(ROOT);
        assert_eq!(of_device(&mounts, sys.path(), "dm-0").len(), 1);
        assert_eq!(of_device(&mounts, sys.path(), "vda").len(), 1);
        assert_eq!(of_device(&mounts, sys.path(), "../x").len(), 0);
    }
}
