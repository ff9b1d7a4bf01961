//! Which filesystems the operator wants writable: fstab(5).

use std::{collections::BTreeSet, path::Path};

use nodewell_sys::proc::mountinfo;

use crate::probe::attribute;

/// The mount points that are to be mounted for writing; none where there is no such file.
pub(super) fn writable(fstab: &Path) -> BTreeSet<String> {
    let text = attribute::text(fstab).ok().flatten().unwrap_or_default();
    text.lines().filter_map(point).collect()
}

fn point(line: &str) -> Option<String> {
    let mut fields = line.trim_start().split_ascii_whitespace();
    fields.next().filter(|source| !source.starts_with('#'))?;
    let (point, _, options) = (fields.next()?, fields.next()?, fields.next().unwrap_or_default());
    let is_read_only = options.split(',').any(|option| option == "ro");
    (point.starts_with('/') && !is_read_only).then(|| mountinfo::text(point.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fstab_does_not_mount_read_only_is_writable() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fstab");
        std::fs::write(
            &path,
            "# /etc/fstab\nUUID=1 / ext4 errors=remount-ro 0 1\nUUID=2 /a\\040b xfs defaults\n/dev/sr0 /cd auto ro,noauto\n\
             UUID=3 none swap sw 0 0\n/dev/x /bare ext4\nnonsense\n",
        )
        .unwrap();
        assert_eq!(writable(&path), ["/", "/a b", "/bare"].map(str::to_owned).into());
        assert_eq!(writable(&folder.path().join("none")), BTreeSet::new());
    }
}
