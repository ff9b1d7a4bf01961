//! The uid of a pod in the name of its cgroup.

use crate::pod_names::is_uid;

/// The uid in the name of a pod's cgroup: `pod3c1b…` of the driver cgroupfs, `kubepods-burstable-pod3c1b….slice` of
/// systemd's, where it has underscores for dashes. A static pod's is a hash without any.
pub(crate) fn pod_uid(part: &str) -> Option<String> {
    // `kubepods-pod3c1b….slice:cri-containerd:0123`: systemd's form of a name, where runc does not speak to systemd.
    let name = part.split(':').next().unwrap_or(part);
    let name = name.strip_suffix(".slice").unwrap_or(name);
    let uid = match name.rsplit_once("-pod") {
        Some((_, uid)) => uid,
        None => name.strip_prefix("pod")?,
    };
    let uid = uid.replace('_', "-");
    is_uid(&uid).then_some(uid)
}
