//! What sort of filesystem a mount is: what it is asked, and what it is judged by.

use nodewell_sys::proc::Mount;
use serde::{Deserialize, Serialize};

/// Distinguished by the type and the device number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum FilesystemKind {
    /// On a device of this machine: free space, errors.
    Disk,
    /// On another machine, or on the host of this one: whether it answers.
    Server,
    /// By a program of this machine: whether it answers.
    Fuse,
}

/// Full by nature, and read-only.
const IMAGES: [&str; 6] = ["squashfs", "erofs", "iso9660", "udf", "cramfs", "romfs"];
/// On disks, though their device number is of no device.
const DISKS: [&str; 4] = ["btrfs", "zfs", "bcachefs", "ubifs"];
const SERVERS: [&str; 15] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "ceph",
    "fuse.glusterfs",
    "glusterfs",
    "lustre",
    "beegfs",
    "gpfs",
    "afs",
    "9p",
    "virtiofs",
    "orangefs",
    "fuse.ceph",
];
/// One person's session, an image, or a layer of a container.
const PRIVATE: [&str; 6] =
    ["fuse.portal", "fuse.gvfsd-fuse", "fuse.snapfuse", "fuse.squashfuse", "fuse.fuse-overlayfs", "fuse.fuseiso"];
/// Layers of containers that are filesystems of their own.
const LAYERS: [&str; 4] = ["/docker/devicemapper/", "/docker/zfs/", "/io.containerd.", "/containers/storage/"];

/// `None`: nothing that could be full or hang on its own, such as tmpfs, overlay, proc and autofs.
pub(super) fn of(mount: &Mount) -> Option<FilesystemKind> {
    let filesystem = mount.filesystem.as_str();
    let is_layer = LAYERS.iter().any(|layer| mount.mount_point.contains(layer));
    if is_layer || IMAGES.contains(&filesystem) || PRIVATE.contains(&filesystem) {
        return None;
    }
    if SERVERS.contains(&filesystem) {
        return Some(FilesystemKind::Server);
    }
    if filesystem == "fuse" || filesystem.starts_with("fuse.") {
        return Some(FilesystemKind::Fuse);
    }
    let is_device = !mount.device_number.starts_with("0:");
    (is_device || DISKS.contains(&filesystem)).then_some(FilesystemKind::Disk)
}

/// Whether only a pod or the kubelet's plug-ins see it: below `…/kubelet/pods` and `…/kubelet/plugins`, wherever the
/// distribution has put the kubelet.
pub(super) fn is_volume(mount_point: &str) -> bool {
    let parts: Vec<_> = mount_point.split('/').collect();
    parts.windows(2).any(|pair| pair[0] == "kubelet" && matches!(pair[1], "pods" | "plugins"))
}

/// How the name of an NFS server begins, where it is asked.
const NFS: &str = "nfs:";

/// The NFS server that is asked, if it is one.
pub(super) fn nfs_server_of(asked: &str) -> Option<&str> {
    asked.strip_prefix(NFS)
}

/// What is asked: `nfs:filer`, `cifs:filer`, or the mount itself.
pub(super) fn asked(kind: FilesystemKind, mount: &Mount) -> String {
    match kind {
        FilesystemKind::Disk | FilesystemKind::Fuse => mount.mount_point.clone(),
        FilesystemKind::Server => match mount.filesystem.as_str() {
            "nfs" | "nfs4" => format!("{NFS}{}", nfs_server(&mount.source)),
            "cifs" | "smb3" => format!("cifs:{}", cifs_server(&mount.source)),
            other => format!("{other}:{}", mount.source),
        },
    }
}

/// As the kernel log names it: `10.0.0.7` of `10.0.0.7:/export`; the brackets of an IPv6 address are cut off, as the
/// kernel does (`nfs_parse_devname` in fs/nfs/fs_context.c).
fn nfs_server(source: &str) -> &str {
    let server = source.split_once(":/").map_or(source, |(server, _)| server);
    server.strip_prefix('[').and_then(|server| server.strip_suffix(']')).unwrap_or(server)
}

fn cifs_server(source: &str) -> &str {
    let path = source.trim_start_matches(['/', '\\']);
    path.split(['/', '\\']).next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(number: &str, point: &str, filesystem: &str, source: &str) -> Mount {
        Mount::parse(format!("30 1 {number} / {point} rw - {filesystem} {source} rw").as_bytes()).unwrap()
    }

    #[test]
    fn only_what_can_be_full_or_hang_is_asked() {
        for (number, point, filesystem, kind) in [
            ("8:1", "/", "ext4", Some(FilesystemKind::Disk)),
            ("0:40", "/", "btrfs", Some(FilesystemKind::Disk)),
            ("8:2", "/media", "fuseblk", Some(FilesystemKind::Disk)),
            ("0:41", "/home", "nfs4", Some(FilesystemKind::Server)),
            ("0:42", "/mnt", "fuse.sshfs", Some(FilesystemKind::Fuse)),
            ("0:43", "/g", "fuse.glusterfs", Some(FilesystemKind::Server)),
            ("7:3", "/snap/core/1", "squashfs", None),
            ("0:44", "/run", "tmpfs", None),
            ("0:45", "/run/x/rootfs", "overlay", None),
            ("0:46", "/home", "autofs", None),
            ("0:47", "/run/user/7/doc", "fuse.portal", None),
            ("253:9", "/var/lib/docker/devicemapper/mnt/a", "xfs", None),
        ] {
            assert_eq!(of(&mount(number, point, filesystem, "x")), kind, "{filesystem}");
        }
    }

    #[test]
    fn a_server_has_one_name_whatever_is_mounted_from_it() {
        for (filesystem, source, name) in [
            ("nfs4", "10.0.0.7:/a", "nfs:10.0.0.7"),
            ("nfs", "filer.example.com:/a/b", "nfs:filer.example.com"),
            ("nfs4", "[fd00::7]:/a", "nfs:fd00::7"),
            ("cifs", "//filer/share", "cifs:filer"),
            ("ceph", "10.0.0.1,10.0.0.2:/", "ceph:10.0.0.1,10.0.0.2:/"),
        ] {
            assert_eq!(asked(FilesystemKind::Server, &mount("0:9", "/m", filesystem, source)), name);
        }
        assert_eq!(asked(FilesystemKind::Fuse, &mount("0:9", "/m", "fuse.sshfs", "me@filer:")), "/m");
    }

    #[test]
    fn volumes_are_known_wherever_the_kubelet_is() {
        assert!(is_volume("/var/lib/kubelet/pods/0a/volumes/kubernetes.io~nfs/data"));
        assert!(is_volume("/var/snap/microk8s/common/var/lib/kubelet/plugins/kubernetes.io/csi/x/globalmount"));
        assert!(!is_volume("/var/lib/kubelet"));
        assert!(!is_volume("/srv/pods"));
    }
}
