//! Which cgroups are containers: by the names that runtimes give them. A container's root is not the host's, so a
//! name that merely looks like a container's is taken for one; it only ever loses rights by that.

/// Runtimes' own scopes and folders, by the start of the name.
const RUNTIMES: &[&str] =
    &["cri-containerd-", "crio-", "docker-", "libpod-", "lxc.", "machine-", "nerdctl-", "podman-", "runc-"];
/// Folders in which every entry is a container.
const GROUPS: &[&str] = &["buildkit", "docker", "libpod_parent", "lxc", "podman"];
/// Containers' ids: 64 hexadecimal digits.
const ID_DIGITS: usize = 64;

/// A container among the components of a cgroup's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Container {
    /// The last sign of it: the component of the container itself, if `is_whole`.
    pub(super) last: usize,
    /// Whether `last` names one container, not a group of them.
    pub(super) is_whole: bool,
}

/// The container that this path lies in, if it lies in one.
pub(super) fn find(components: &[&str]) -> Option<Container> {
    let (last, sign) = (0..components.len()).rev().find_map(|at| Some((at, sign(components, at)?)))?;
    Some(Container { last, is_whole: sign == Sign::Container })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Group,
    Container,
}

fn sign(components: &[&str], at: usize) -> Option<Sign> {
    let name = components[at];
    // `crio-wipe.service` and `docker.socket` are the host's own: runtimes make scopes, slices and plain folders.
    let from_file = is_unit_file(name);
    let parent = at.checked_sub(1).map_or("", |above| components[above]);
    let below_nspawn = parent.starts_with("systemd-nspawn@");
    let of_machines = parent == "machine.slice" || parent.starts_with("machine-") && parent.ends_with(".slice");
    if name.starts_with("systemd-nspawn@") || name == "payload" && below_nspawn {
        return Some(Sign::Container);
    }
    if !from_file && (has_id(name) || is_runc_triple(name) || RUNTIMES.iter().any(|start| name.starts_with(start))) {
        return Some(Sign::Container);
    }
    if of_machines {
        return Some(if name.ends_with(".slice") { Sign::Group } else { Sign::Container });
    }
    (is_of_pods(components, at) || GROUPS.contains(&name)).then_some(Sign::Group)
}

/// Where on the way the cgroup of pods is.
pub(super) fn pods(components: &[&str]) -> Option<usize> {
    (0..components.len()).find(|&at| is_of_pods(components, at))
}

/// `kubepods`, `kubelet-kubepods.slice`, whatever root the kubelet has. Only a unit of the host may be called so and be
/// none, such as `kubepods-exporter.service`: its name is the administrator's choice. What a unit calls its own cgroups
/// is not.
fn is_of_pods(components: &[&str], at: usize) -> bool {
    let name = components[at];
    let is_slice = |part: &&str| part.ends_with(".slice");
    let is_unit = is_unit_file(name) && !is_slice(&name) && components[..at].iter().all(is_slice);
    name.contains("kubepods") && !is_unit
}

/// `kubepods-pod1.slice:cri-containerd:0123`, or what runc makes of it where systemd is not asked.
fn is_runc_triple(name: &str) -> bool {
    name.split(':').count() == 3
}

fn has_id(name: &str) -> bool {
    name.split(|c: char| !c.is_ascii_hexdigit()).any(|run| run.len() >= ID_DIGITS)
}

/// A unit that is loaded from a file, so it has the name that the administrator gave it. Scopes are made at run time.
fn is_unit_file(name: &str) -> bool {
    [".service", ".slice", ".socket", ".mount", ".swap"].iter().any(|kind| name.ends_with(kind))
}
