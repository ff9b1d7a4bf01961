use std::{fs, sync::Arc};

use nodewell_model::{FindingKind, Origin, Severity};

use super::*;
use crate::detectors::pod_names::PodNamesFile;

struct Host(tempfile::TempDir);

impl Host {
    fn with_mounts(mountinfo: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("proc/self")).unwrap();
        fs::write(root.path().join("proc/self/mountinfo"), mountinfo).unwrap();
        for (device, number) in [("sdb", "8:16"), ("sda1", "8:1")] {
            let folder = root.path().join("sys/class/block").join(device);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("dev"), number).unwrap();
        }
        Self(root)
    }

    fn with_process(self, pid: u32, cgroup: &str) -> Self {
        let folder = self.0.path().join(format!("proc/{pid}"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("cgroup"), cgroup).unwrap();
        self
    }

    /// A btrfs that these devices have together.
    fn with_btrfs(self, uuid: &str, devices: &[&str]) -> Self {
        for device in devices {
            self.write(&format!("sys/class/block/{device}/dev"), "259:7\n");
            self.write(&format!("sys/fs/btrfs/{uuid}/devices/{device}/size"), "8\n");
        }
        self
    }

    fn with_mapped(self, device: &str, name: &str) -> Self {
        self.write(&format!("sys/class/block/{device}/dm/name"), name);
        self
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// As `PrivateDevices=` leaves it, `/dev` has no block device.
    fn prover(&self) -> Prover {
        let path = |name: &str| self.0.path().join(name);
        let (proc, sys, dev) = (path("proc"), path("sys"), path("dev"));
        fs::create_dir_all(&dev).unwrap();
        let names = KnownPodNames::new(self.names_file());
        Prover::new(HostRoots { proc, sys, dev, ..HostRoots::default() }, names)
    }

    fn names_file(&self) -> PodNamesFile {
        PodNamesFile::of(&self.0.path().join("run/nodewell.sock"))
    }

    fn condition(&self, device: &str) -> String {
        let required_proof = RequiredProof::Filesystem { device: device.to_owned() };
        let proven = self.prover().prove(finding("ReadonlyFilesystem", required_proof)).unwrap();
        assert_eq!(proven.required_proof, RequiredProof::None);
        proven.condition.unwrap().to_string()
    }
}

fn finding(condition: &'static str, required_proof: RequiredProof) -> Finding {
    Finding {
        source: Arc::from("kernel-monitor"),
        kind: FindingKind::Raise,
        condition: Some(Name::fixed(condition)),
        reason: Name::fixed("FilesystemIsReadOnly"),
        subject: None,
        severity: Severity::Error,
        message: String::new(),
        time: jiff::Timestamp::UNIX_EPOCH,
        last_time: jiff::Timestamp::UNIX_EPOCH,
        count: 1,
        origin: Origin::Line { number: 1 },
        boot_id: None,
        ends_after_quiet: None,
        ends_at_boot: true,
        action: None,
        required_proof,
        test: false,
    }
}

fn condition_for(mountinfo: &str, device: &str) -> String {
    Host::with_mounts(mountinfo).condition(device)
}

const VOLUME: &str =
    "40 1 8:16 / /var/lib/kubelet/pods/u/volumes/kubernetes.io~csi/pvc-1/mount rw - ext4 /dev/sdb rw\n";

#[test]
fn a_filesystem_that_only_a_pod_uses_is_a_volume() {
    assert_eq!(condition_for(VOLUME, "sdb"), "VolumeUnhealthy");
}

#[test]
fn a_filesystem_that_the_node_uses_too_is_the_nodes() {
    let both = format!("{VOLUME}41 1 8:16 / /srv rw - ext4 /dev/sdb rw\n");
    assert_eq!(condition_for(&both, "sdb"), "ReadonlyFilesystem");
}

#[test]
fn a_device_that_is_not_mounted_proves_nothing() {
    assert_eq!(condition_for(VOLUME, "sda1"), "ReadonlyFilesystem");
    assert_eq!(condition_for(VOLUME, "nosuch"), "ReadonlyFilesystem");
}

const PODS: &str = "/var/lib/kubelet/pods/u/volumes/kubernetes.io~csi";

/// The unit's `/dev` has no nodes: what the sources are sysfs shows.
#[test]
fn a_volume_of_btrfs_is_a_volume_beside_a_root_of_btrfs() {
    let mounts = format!(
        "27 1 0:30 /@ / rw - btrfs /dev/vda3 rw\n\
         28 27 0:30 /@home /home rw - btrfs /dev/vda3 rw\n\
         40 27 0:35 / {PODS}/pvc-1/mount rw - btrfs /dev/sdb ro\n\
         41 27 0:36 / {PODS}/pvc-2/mount rw - btrfs /dev/mapper/vg-two rw\n"
    );
    let host = Host::with_mounts(&mounts)
        .with_btrfs("0a1b", &["vda3"])
        .with_btrfs("2c3d", &["sdb", "sdc"])
        .with_btrfs("4e5f", &["dm-0", "dm-1"])
        .with_mapped("dm-0", "vg-one\n")
        .with_mapped("dm-1", "vg-two\n");
    for device in ["sdb", "sdc", "dm-0", "dm-1"] {
        assert_eq!(host.condition(device), "VolumeUnhealthy", "{device}");
    }
    assert_eq!(host.condition("vda3"), "ReadonlyFilesystem");
}

/// The kernel itself mounted the root, by a name that leads to no device.
#[test]
fn a_volume_is_a_volume_beside_a_root_whose_device_is_unknown() {
    for root in ["/dev/root", "/dev/disk/by-uuid/0a1b"] {
        let mounts = format!(
            "27 1 0:30 / / rw - btrfs {root} rw\n\
             40 27 0:35 / {PODS}/pvc-1/mount rw - btrfs /dev/sdb ro\n"
        );
        let host = Host::with_mounts(&mounts).with_btrfs("0a1b", &["vda3"]).with_btrfs("2c3d", &["sdb", "sdc"]);
        for (device, condition) in
            [("sdb", "VolumeUnhealthy"), ("sdc", "VolumeUnhealthy"), ("vda3", "ReadonlyFilesystem")]
        {
            assert_eq!(host.condition(device), condition, "{root} {device}");
        }
    }
}

/// A bind mount shows a part of the filesystem, under the number and the source of the whole.
#[test]
fn a_btrfs_that_the_node_uses_too_is_the_nodes() {
    let mounts = format!(
        "27 1 0:30 / /data rw - btrfs /dev/mapper/data rw\n\
         40 27 0:30 /pv/1 {PODS}/pvc-1/mount rw - btrfs /dev/mapper/data ro\n"
    );
    let host = Host::with_mounts(&mounts).with_btrfs("0a1b", &["dm-0", "sdb"]).with_mapped("dm-0", "data\n");
    for device in ["dm-0", "sdb"] {
        assert_eq!(host.condition(device), "ReadonlyFilesystem", "{device}");
    }
}

const UID: &str = "0d6e7d1c-3c1b-4f2a-90b1-c2d3e4f5a6b7";

fn killed(host: &Host) -> Finding {
    // As long as the kernel's are: some 600 bytes.
    let message =
        format!("oom-kill:oom_memcg=/{}\nMemory cgroup out of memory: Killed process 7 (java)", "p".repeat(500));
    let required_proof = RequiredProof::Pod { uid: UID.to_owned() };
    let subject = Some("java".to_owned());
    host.prover().prove(Finding { condition: None, message, subject, ..finding("X", required_proof) }).unwrap()
}

#[test]
fn a_kill_names_its_pod_and_begins_with_what_happened() {
    let host = Host::with_mounts("");
    host.names_file().write(&[(UID.to_owned(), "default/web-0".to_owned())].into()).unwrap();
    let named = killed(&host);
    assert_eq!(named.subject.as_deref(), Some("default/web-0"));
    assert_eq!(
        named.message,
        format!(
            "pod default/web-0 (uid {UID}): Memory cgroup out of memory: Killed process 7 (java); oom-kill:oom_memcg=/{}",
            "p".repeat(500)
        )
    );
}

#[test]
fn a_kill_in_a_pod_whose_name_is_unknown_names_its_uid() {
    let unnamed = killed(&Host::with_mounts(""));
    assert_eq!(unnamed.subject.as_deref(), Some(UID));
    assert!(unnamed.message.starts_with(&format!("pod {UID}: Memory cgroup out of memory")), "{}", unnamed.message);
}

/// Its log folder may be read later than the kernel's lines, or be gone when these are read again.
#[test]
fn a_kill_is_the_same_whether_its_pods_name_is_known_or_not() {
    let host = Host::with_mounts("");
    let unnamed = killed(&host);
    host.names_file().write(&[(UID.to_owned(), "default/web-0".to_owned())].into()).unwrap();
    for kill in [unnamed, killed(&host)] {
        assert_eq!(kill.required_proof, RequiredProof::Pod { uid: UID.to_owned() });
    }
}

#[test]
fn kills_in_two_pods_are_two_events() {
    let host = Host::with_mounts("");
    let other = Finding { subject: Some("another".to_owned()), ..killed(&host) };
    assert!(killed(&host).merges_with(&killed(&host)) && !killed(&host).merges_with(&other));
}

#[test]
fn a_hung_task_counts_only_if_its_cgroup_is_the_nodes_plumbing() {
    let host = Host::with_mounts("")
        .with_process(7, "0::/system.slice/containerd.service\n")
        .with_process(8, "0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-1.scope\n");
    let hung = |pid| host.prover().prove(finding("KernelDeadlock", RequiredProof::NodePlumbing { pid }));
    assert!(hung(7).is_some());
    assert!(hung(8).is_none());
    assert!(hung(9).is_none(), "a process that is gone");
}
