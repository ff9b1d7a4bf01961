use std::{fs, sync::Arc};

use nodewell_model::{FindingKind, Origin, Severity};

use super::*;

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

    fn prover(&self) -> Prover {
        let root = self.0.path();
        Prover::new(HostRoots { proc: root.join("proc"), sys: root.join("sys"), ..HostRoots::default() })
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
    let required_proof = RequiredProof::Filesystem { device: device.to_owned() };
    let proven = Host::with_mounts(mountinfo).prover().prove(finding("ReadonlyFilesystem", required_proof)).unwrap();
    assert_eq!(proven.required_proof, RequiredProof::None);
    proven.condition.unwrap().to_string()
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
