//! The owner of a process or cgroup: found by the cgroup's path, because any process can choose its own name.

use crate::pod_names::is_uid;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A pod's uid.
    Pod(String),
    /// A unit of the service manager.
    Unit(String),
}

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
pub(crate) fn pod_uid(part: &str) -> Option<String> {
    let name = part.strip_suffix(".slice").unwrap_or(part);
    let uid = match name.rsplit_once("-pod") {
        Some((_, uid)) => uid,
        None => name.strip_prefix("pod")?,
    };
    let uid = uid.replace('_', "-");
    is_uid(&uid).then_some(uid)
}
