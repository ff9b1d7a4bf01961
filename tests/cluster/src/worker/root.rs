//! A worker's disk: a layer of its own over the tree that all machines have in common, and folders that are in no
//! layer. What is written stays when its power is cut.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nodewell_kit::write_program;
use nodewell_tests::real::binary;

use super::{Common, Number};
use crate::volumes;

/// What a kubelet and containerd write: layers upon layers are no filesystem for layers.
const BARE: &[&str] = &["/var/lib/containerd", KUBELET];
const KUBELET: &str = "/var/lib/kubelet";
/// Where the kernel shows the filesystems that it has mounted, in whichever namespace; systemd-nspawn's /sys has not
/// all of it.
const SHOWN: [&str; 4] = ["/sys/fs/ext4", "/sys/fs/xfs", "/sys/fs/f2fs", "/sys/fs/btrfs"];
/// PID 1 until systemd is.
pub(super) const INIT: &str = "/usr/sbin/nodewell-init";
const IMAGES: &str = "/opt/images.tar";

const PROGRAM: &str = "/usr/bin/kubelet";

/// What would go to the network.
const MASKED: &str = "systemd-networkd.service apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer \
                      e2scrub_all.timer fstrim.timer";
/// What has nothing to do in a container besides.
const MASKED_IN_CONTAINERS: &str = "systemd-udevd.service systemd-udevd-kernel.socket systemd-udevd-control.socket \
                                    systemd-modules-load.service";
const ENABLED: [&str; 2] = ["kubelet.service", "cluster-images.service"];

/// Text files of a worker, by their paths.
const FILES: [(&str, &str); 4] = [
    ("/etc/containerd/config.toml", include_str!("../../files/containerd.toml")),
    ("/etc/systemd/system/kubelet.service", include_str!("../../files/kubelet.service")),
    ("/etc/systemd/system/cluster-images.service", include_str!("../../files/cluster-images.service")),
    ("/var/lib/kubelet/config.yaml", include_str!("../../files/kubelet.yaml")),
];
/// What a container has besides: it shares the kernel of the outer machine, which loads no module.
const OF_CONTAINERS: [(&str, &str); 3] = [
    ("/etc/systemd/system/containerd.service.d/cluster.conf", include_str!("../../files/containerd.conf")),
    ("/etc/systemd/system/nodewell.service.d/boot-id.conf", include_str!("../../files/boot-id.conf")),
    ("/etc/systemd/system/nodewell-kmsg.socket.d/cluster.conf", include_str!("../../files/kernel-log.conf")),
];

/// What a disk is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is the root of a container, which has some folders from outside.
    Container,
    /// An image is made of it.
    Image,
}

/// Unmounted when dropped; its folder is its owner's.
#[derive(Debug)]
pub(super) struct Root {
    folder: PathBuf,
    /// What is in no layer.
    bare: &'static [&'static str],
    /// Before that the layer is written, after that the mount alone.
    is_mounted: bool,
}

impl Root {
    /// A fresh one in `folder`.
    pub(super) fn prepare(common: &Common<'_>, number: Number, kind: Kind, folder: &Path) -> Self {
        for name in ["layer", "work", "root", "bare"] {
            fs::create_dir(folder.join(name)).unwrap();
        }
        let bare = if kind == Kind::Container { BARE } else { &[] };
        let mut root = Self { folder: folder.to_owned(), bare, is_mounted: false };
        for path in BARE {
            fs::create_dir_all(root.real(path)).unwrap();
        }
        root.fill(number, &common.network.address(number.last()));
        match kind {
            Kind::Container => root.fill_container(common),
            Kind::Image => root.fill_image(common),
        }
        let layers = format!(
            "lowerdir={},upperdir={},workdir={}",
            common.tree.display(),
            folder.join("layer").display(),
            folder.join("work").display()
        );
        mount(Some("overlay"), &root.path(), Some("overlay"), MsFlags::empty(), Some(layers.as_str())).unwrap();
        root.is_mounted = true;
        root
    }

    fn fill(&self, number: Number, address: &str) {
        let name = number.name();
        FILES.iter().for_each(|(path, content)| self.write(path, content));
        self.write("/etc/hostname", &format!("{name}\n"));
        self.write("/etc/hosts", &format!("127.0.0.1 localhost\n127.0.1.1 {name}\n"));
        self.write("/etc/default/kubelet", &format!("KUBELET_EXTRA_ARGS=--node-ip={address}\n"));
        // A kubelet without firmware takes it for the machine's UUID.
        self.write("/etc/machine-id", &format!("{}\n", number.guid()));
        let network = include_str!("../../files/bridge.conflist").replace("@PODS@", &number.pods());
        self.write("/etc/cni/net.d/10-bridge.conflist", &network);
        fs::create_dir_all(self.real("/etc/kubernetes/manifests")).unwrap();
        fs::create_dir_all(self.real("/var/log/journal")).unwrap();
        self.mask(MASKED);
        ENABLED.iter().for_each(|unit| self.enable(unit));
    }

    fn fill_container(&self, common: &Common<'_>) {
        if let Some(older) = &common.older_kubelet {
            self.copy_kubelet(older);
        }
        OF_CONTAINERS.iter().for_each(|(path, content)| self.write(path, content));
        write_program(&self.made(INIT), 0o755, include_str!("../../files/init.sh"));
        self.mask(MASKED_IN_CONTAINERS);
    }

    /// What a container has from outside.
    fn fill_image(&self, common: &Common<'_>) {
        self.copy_kubelet(&binary("kubelet"));
        fs::copy(&common.images, self.made(IMAGES)).unwrap();
    }

    fn copy_kubelet(&self, from: &Path) {
        // Not by ourselves: it is a program (see `nodewell_kit::write_program`).
        let copied = Command::new("cp").arg(from).arg(self.made(PROGRAM)).status();
        assert!(copied.unwrap().success(), "{} cannot be copied", from.display());
    }

    fn mask(&self, units: &str) {
        units.split_whitespace().for_each(|unit| self.link(&format!("/etc/systemd/system/{unit}"), "/dev/null"));
    }

    /// A unit is started at each boot.
    pub(super) fn enable(&self, unit: &str) {
        self.link(&format!("/etc/systemd/system/multi-user.target.wants/{unit}"), &format!("../{unit}"));
    }

    /// What the machine boots from.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.join("root")
    }

    /// Flags of systemd-nspawn for what is in no layer.
    pub(super) fn binds(&self, common: &Common<'_>) -> Vec<String> {
        let mut flags: Vec<String> =
            BARE.iter().map(|path| format!("--bind={}:{path}", self.real(path).display())).collect();
        // One that is to be replaced is on the disk.
        if common.older_kubelet.is_none() {
            flags.push(format!("--bind-ro={}:{PROGRAM}", binary("kubelet").display()));
        }
        flags.push(format!("--bind-ro={}:{IMAGES}", common.images.display()));
        flags.push(format!("--bind={}:{}", common.volumes.display(), volumes::INSIDE));
        flags.extend(SHOWN.iter().filter(|path| Path::new(path).is_dir()).map(|path| format!("--bind-ro={path}")));
        flags
    }

    /// What the kubelet writes.
    pub(super) fn kubelets_folder(&self) -> PathBuf {
        self.real(KUBELET)
    }

    /// Writes a file with its folders.
    pub(super) fn write(&self, inside: &str, content: &str) {
        fs::write(self.made(inside), content).unwrap();
    }

    /// The same for root alone to read.
    pub(super) fn write_secret(&self, inside: &str, content: &str) {
        self.write(inside, content);
        fs::set_permissions(self.real(inside), fs::Permissions::from_mode(0o600)).unwrap();
    }

    pub(super) fn link(&self, inside: &str, to: &str) {
        let path = self.made(inside);
        if path.is_symlink() {
            fs::remove_file(&path).unwrap();
        }
        symlink(to, path).unwrap();
    }

    /// Where a file lies: in a folder of its own, in the machine's root once that is mounted, before that in its layer.
    fn real(&self, inside: &str) -> PathBuf {
        let relative = inside.trim_start_matches('/');
        if self.bare.iter().any(|bare| inside.starts_with(bare)) {
            return self.folder.join("bare").join(relative);
        }
        let top = if self.is_mounted { self.path() } else { self.folder.join("layer") };
        top.join(relative)
    }

    /// The same, with the folders that it lies in.
    pub(super) fn made(&self, inside: &str) -> PathBuf {
        let path = self.real(inside);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        // A process that made a mount namespace meanwhile has a mount of it.
        let _ = umount2(&self.path(), MntFlags::MNT_DETACH);
    }
}
