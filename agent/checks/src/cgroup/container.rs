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
    /// Where the first sign of it is.
    pub(super) first: usize,
    /// The last sign of it: the component of the container itself, if `is_whole`.
    pub(super) last: usize,
    /// Whether `last` names one container, not a group of them.
    pub(super) is_whole: bool,
}

/// The container that this path lies in, if it lies in one.
pub(super) fn find(components: &[&str]) -> Option<Container> {
    let signs = || components.iter().enumerate().filter_map(|(at, _)| Some((at, sign(components, at)?)));
    let (first, _) = signs().next()?;
    let (last, sign) = signs().next_back()?;
    Some(Container { first, last, is_whole: sign == Sign::Container })
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
    let of_pods = name.contains("kubepods") && (!from_file || name.ends_with(".slice"));
    (of_pods || GROUPS.contains(&name)).then_some(Sign::Group)
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
