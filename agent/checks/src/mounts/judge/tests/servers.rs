//! Servers that do not answer, and mounts that answer with errors only.

use super::*;

const SILENT: &str = "no answer within 10 s";

#[test]
fn all_mounts_of_a_silent_server_hang_and_the_server_is_named_once() {
    let rows = ["/home", "/srv"].map(|point| remote(point, FilesystemKind::Server, "filer:/x", "nfs:filer")).to_vec();
    let mut node = node(rows);
    let verdicts = node.verdicts();
    assert_eq!((reported(&verdicts).len(), verdicts.len()), (0, 2), "healthy, by name: {verdicts:?}");
    node.is("nfs:filer", no_answer(SILENT));
    let verdicts = node.verdicts();
    let expected = [
        is("MountHung", "MountNotAnswering", "/home"),
        is("MountHung", "MountNotAnswering", "/srv"),
        is("VolumeUnhealthy", "NfsServerNotResponding", "filer"),
    ];
    assert_eq!(reported(&verdicts), expected.concat());
    assert_eq!(
        fault(&verdicts, "MountHung").message,
        "filer:/x (nfs4): no answer within 10 s; check its server and the network, else umount -f"
    );
    assert_eq!(
        fault(&verdicts, "VolumeUnhealthy").message,
        format!("{SILENT} from the NFS server, 2 mounts of it hang; check the server and the network")
    );
    node.is("nfs:filer", Ok(json!({})));
    assert_eq!(node.reported(), []);
}

#[test]
fn a_server_of_volumes_is_named_and_the_volumes_are_not() {
    let pod = "/var/lib/kubelet/pods/1/volumes/kubernetes.io~nfs/a";
    let mut node = node(vec![remote(pod, FilesystemKind::Server, "filer:/x", "nfs:filer")]);
    assert_eq!(node.verdicts(), [], "there are many, and they come and go");
    node.is("nfs:filer", no_answer(SILENT));
    assert_eq!(node.reported(), is("VolumeUnhealthy", "NfsServerNotResponding", "filer"));
}

#[test]
fn a_volume_of_a_program_is_a_volume() {
    let pod = "/var/lib/kubelet/pods/1/volumes/kubernetes.io~csi/a/mount";
    let mut node = node(vec![remote(pod, FilesystemKind::Fuse, "bucket", pod)]);
    node.is(pod, no_answer(SILENT));
    assert_eq!(node.reported(), is("VolumeUnhealthy", "MountNotAnswering", pod));
}

#[test]
fn who_was_not_asked_does_not_hang() {
    let mut node = node(vec![remote("/home", FilesystemKind::Server, "filer:/x", "nfs:filer")]);
    node.verdicts();
    node.is("nfs:filer", not_asked("the workers of 2 others are stuck in the kernel"));
    assert_eq!(node.reported(), is("MountHung", "DeviceNotAnswering", "/home"));
    node.is("nfs:filer", no_answer("its worker, pid 77, is stuck in the kernel"));
    assert_eq!(node.reported()[0].1, "MountNotAnswering");
}

#[test]
fn a_mount_that_only_fails_is_reported_and_one_that_is_none_of_ours_is_not() {
    let row = remote("/mnt", FilesystemKind::Fuse, "me@host:", "/mnt");
    let mut node = node(vec![row.clone()]);
    for (code, is_reported) in [
        (nix::libc::ENOTCONN, true),
        (nix::libc::ESTALE, true),
        (nix::libc::EACCES, false),
        (nix::libc::EPERM, false),
        (-7, false),
    ] {
        node.reports(&row, StatfsResult::Failed(code));
        let expected = if is_reported { is("MountHung", "MountUnusable", "/mnt") } else { Vec::new() };
        assert_eq!(node.reported(), expected, "{code}");
    }
}
