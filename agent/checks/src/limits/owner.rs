//! The owner of a process or cgroup: found by the cgroup's path, because any process can choose its own name.

use super::reading::Owner;
use crate::pod_names::is_uid;

/// The owner of a process whose `/proc/PID/cgroup` has this text.
pub(super) fn of_process(cgroup: &str) -> Option<Owner> {
    // systemd's own hierarchy, or the unified one, which may be there beside it and empty.
    let paths = cgroup.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    paths.filter_map(of_path).next()
}

fn of_path(path: &str) -> Option<Owner> {
    if path.split('/').any(is_of_pods) {
        return path.split('/').find_map(pod_uid).map(Owner::Pod);
    }
    let mut below_slices = path.split('/').filter(|part| !part.is_empty()).skip_while(|part| part.ends_with(".slice"));
    let unit = below_slices.next().filter(|part| part.ends_with(".service"))?;
    Some(Owner::Unit(unit.to_owned()))
}

fn is_of_pods(part: &str) -> bool {
    part.starts_with("kubepods") || part.starts_with("kubelet-kubepods")
}

/// The uid in the name of a pod's cgroup: `pod3c1b…` of the driver cgroupfs, `kubepods-burstable-pod3c1b….slice` of systemd's,
/// where it has underscores for dashes. A static pod's is a hash without any.
pub(super) fn pod_uid(part: &str) -> Option<String> {
    let name = part.strip_suffix(".slice").unwrap_or(part);
    let uid = match name.rsplit_once("-pod") {
        Some((_, uid)) => uid,
        None => name.strip_prefix("pod")?,
    };
    let uid = uid.replace('_', "-");
    is_uid(&uid).then_some(uid)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UID: &str = "0d6e7d1c-3c1b-4f2a-90b1-c2d3e4f5a6b7";

    #[test]
    fn a_pod_is_known_by_either_driver() {
        let systemd = format!(
            "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{}.slice/cri-containerd-1.scope",
            UID.replace('-', "_")
        );
        let cgroupfs = format!("12:pids:/kubepods/besteffort/pod{UID}/abc\n0::/\n");
        let kind =
            format!("0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{}.slice", UID.replace('-', "_"));
        for text in [systemd, cgroupfs, kind] {
            assert_eq!(of_process(&text), Some(Owner::Pod(UID.to_owned())), "{text}");
        }
    }

    #[test]
    fn a_unit_is_the_first_below_the_slices() {
        for (text, unit) in [
            ("0::/system.slice/kubelet.service", Some("kubelet.service")),
            ("1:name=systemd:/system.slice/containerd.service\n0::/\n", Some("containerd.service")),
            ("0::/user.slice/user-0.slice/session-1.scope/kubelet.service", None),
            ("0::/kubepods.slice/kubelet.service", None),
            ("0::/", None),
            ("", None),
        ] {
            assert_eq!(of_process(text), unit.map(|unit| Owner::Unit(unit.to_owned())), "{text}");
        }
    }

    #[test]
    fn what_is_no_uid_is_none() {
        for part in [
            "pod",
            "podman",
            "pod../../x",
            "kubepods",
            "kubepods-pod.slice",
            "-pod",
            "podgggggggggggggggggggggggggggggggg",
        ] {
            assert_eq!(pod_uid(part), None, "{part}");
        }
        assert_eq!(pod_uid("podabcdefabcdefabcdefabcdefabcdef12").as_deref(), Some("abcdefabcdefabcdefabcdefabcdef12"));
    }
}
